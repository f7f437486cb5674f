"""Schedule rows for plugin tests: made here, so that no plan has to exist."""

from dataclasses import replace

from bench.plan.records import SYNTAXES, ScheduleRow

ROW = ScheduleRow(
    position=0,
    block=0,
    trial_id="0" * 64,
    case_id="case-0",
    family_id="family-0",
    task="scope_lookup",
    view="after_close",
    syntax="braces",
    lexical="natural",
    lexicon_set=None,
    example_set=0,
    depth=2,
    filler=0,
    seed_index=0,
    lookup_kind="inner",
    replicate=0,
    request_sha256="f" * 64,
)


def rows(count: int, *, depths: tuple[int, ...] = (2, 8), fillers: tuple[int, ...] = (0, 32)) -> list[ScheduleRow]:
    """``count`` rows in blocks of five, cells and regimes in turn."""
    made = []
    for position in range(count):
        block = position // 5
        made.append(
            replace(
                ROW,
                position=position,
                block=block,
                trial_id=f"{position:064x}",
                case_id=f"case-{block}",
                syntax=SYNTAXES[position % 5],
                depth=depths[block % len(depths)],
                filler=fillers[block // len(depths) % len(fillers)],
                lexical="nonce" if block % 2 else "natural",
                lexicon_set=block % 8 if block % 2 else None,
                seed_index=block // 4,
                request_sha256=f"{position + 1:064x}",
            )
        )
    return made

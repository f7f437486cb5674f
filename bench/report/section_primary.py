"""Section 4: the primary comparison D − B, its intervals, what qualifies it and what it could not have seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.report.document import Block, Bullets, Code, Column, Figure, Heading, Line, Paragraph, Strong, Table, say
from bench.report.formatting import NOT_COMPUTED, number, p_value, plural, points, points_range, share
from bench.report.notations import titled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.report.run_data import RunData
    from bench.stats.analysis import Analysis
    from bench.stats.breakdowns import Breakdown
    from bench.stats.contrast_result import ContrastResult
    from bench.stats.validity import ValidityRow

WITH_INTERVALS = "Differences with their 95 % intervals where one could be computed (a mark without a bar has none)"
DEFINITION = (
    "For each family (one base program) the share of correct answers under named_end (D) minus that under generic_end "
    "(B) is taken within each lexical regime and averaged over natural and nonce words. Families weigh the same within "
    "a cell (depth × filler), cells weigh the same. A family counts only if every regime is evaluable under both D and "
    "B; what happened to other notations does not matter. Unit: percentage points (pp)."
)

VERDICTS = (
    "The verdict is one of withheld, inconclusive, positive, negative and equivalent, by a rule that the protocol "
    "fixed before anything was sent; nobody chooses it."
)

FLAG_SENTENCES = {
    "narrow": (
        "narrow: a percentile bootstrap within cells is too short when a cell has few families (by the factor "
        "√((m−1)/m) for m families: a nominal 95 % interval covers about 91 % at m = 4, 94 % at m = 10) or when few "
        "families differ at all. It must not be read as a full 95 % interval; compare the t interval and the sign-flip "
        "test beside it."
    ),
    "degenerate": (
        "degenerate: every family's difference is zero, so resampling cannot vary and no interval is given. That is "
        "not evidence that the effect is exactly zero."
    ),
    "zero_width": "zero_width: all resamples gave the same value; such an interval is no measure of certainty.",
    "single_family_stratum": (
        "single_family_stratum: some cell has a single family, which adds no spread of its own to the interval."
    ),
    "empty_stratum": (
        "empty_stratum: some cell has no complete family, so the estimate for the whole grid is undefined; the value "
        "over the available cells is another quantity and is shown under its own name."
    ),
    "missing_halves": "missing_halves: some planned families dropped out because a half of a pair is missing.",
    "no_families": "no_families: no family is complete under both notations.",
    "selftest_failed": "selftest_failed: two computations of the interval disagree. Do not use it; report a bug.",
    "exploratory": "exploratory: not the preregistered comparison.",
}


def primary_blocks(data: RunData) -> list[Block]:
    """The blocks of section 4."""
    result = data.analysis.primary
    if result is None:
        return [say("Not run: the plan holds no scope lookup after closes, so there is no primary comparison.")]
    return [
        say(DEFINITION),
        *_regimes_first(data),
        *_verdict(result),
        _intervals(result, data.analysis.settings.resamples),
        *_qualifications(result),
        Figure("contrasts-scope_lookup-after_close", f"{WITH_INTERVALS}; the primary one on top."),
        Heading(3, "Checks on the primary comparison"),
        *_checks(data.analysis, result),
    ]


def _regimes_first(data: RunData) -> list[Block]:
    """Natural, nonce and their interaction come before the average; inner and outer lookups apart."""
    wanted = ("natural", "nonce", "nonce minus natural", "inner", "outer")
    rows = [part for part in _breakdowns(data) if part.label in wanted]
    if not rows:
        return []
    names = {
        "nonce minus natural": "interaction: nonce minus natural",
        "inner": "inner lookups (binding in the innermost open block)",
        "outer": "outer lookups (binding further out)",
    }
    table = breakdown_table("D − B by lexical regime and by kind of lookup, before any average", rows, names)
    return [table]


def _breakdowns(data: RunData) -> Sequence[Breakdown]:
    return data.parts(data.main_place)


def breakdown_table(caption: str, rows: Iterable[Breakdown], names: dict[str, str] | None = None) -> Table:
    """Parts of a comparison, one a row, with their families."""
    columns = (
        Column("part", numeric=False),
        Column("D − B, pp"),
        Column("95 % interval, pp"),
        Column("sign-flip p"),
        Column("detectable, pp"),
        Column("families"),
        Column("flags", numeric=False),
    )
    cells = tuple(
        (
            (names or {}).get(part.label, part.label),
            points(part.estimate_pp),
            points_range(part.ci95),
            p_value(part.signflip_p),
            detectable(part),
            f"{part.families} / {part.families_planned}",
            ", ".join(part.flags) or "–",
        )
        for part in rows
    )
    return Table(caption, columns, cells)


def headline(result: ContrastResult) -> Line:
    """The primary result in one sentence."""
    where = titled(result.task, result.view)
    got = f"{plural(result.families, 'family', 'families')} of {result.families_planned} planned"
    if result.estimate_pp is None:
        available = result.estimate_available_strata_pp
        extra = (
            "" if available is None else f" Over the available cells only (another quantity): {points(available)} pp."
        )
        return (
            f"{where}: D − B is undefined over the whole grid ({got}).{extra} Verdict: ",
            Strong(result.verdict),
            ".",
        )
    interval = f"95 % interval {points_range(result.ci95)} pp" if result.ci95 else f"95 % interval {NOT_COMPUTED}"
    flagged = f", flagged {', '.join(result.flags)}" if result.flags else ""
    return (
        f"{where}: D − B = ",
        Strong(f"{points(result.estimate_pp)} pp"),
        f" ({interval}{flagged}; {got}). Verdict: ",
        Strong(result.verdict),
        ".",
    )


def _verdict(result: ContrastResult) -> list[Block]:
    reasons = (
        []
        if not result.verdict_reasons
        else [say("Reasons for the verdict: " + "; ".join(result.verdict_reasons) + ".")]
    )
    pairs = result.pairs
    equal_weight = (
        f"Accuracy over the same families with the same weights: D {share(result.accuracy_plus)}, "
        f"B {share(result.accuracy_minus)}. Pairs: both correct {pairs.both_correct}, both wrong {pairs.both_wrong}, "
        f"only D correct {pairs.plus_only}, only B correct {pairs.minus_only}; families whose difference is not zero: "
        f"{result.discordant_families}. Relative reduction of errors: "
        f"{share(result.error_reduction)}{' (B made no error)' if result.error_reduction is None else ''}."
    )
    return [Paragraph(headline(result)), *reasons, say(VERDICTS), say(equal_weight)]


def _intervals(result: ContrastResult, resamples: int) -> Table:
    columns = (Column("method", numeric=False), Column("low, pp"), Column("high, pp"), Column("role", numeric=False))
    named = (
        (
            f"stratified paired cluster bootstrap, percentiles, {resamples:,} seeded resamples",
            result.ci95,
            "primary interval",
        ),
        ("the same bootstrap distribution computed exactly, no resampling", result.exact95, "check"),
        ("stratified t interval, 95 %", result.t95, "check"),
        ("stratified t interval, 90 %", result.t90, "equivalence test"),
    )
    rows = [
        (name, points(part.low_pp) if part else NOT_COMPUTED, points(part.high_pp) if part else NOT_COMPUTED, role)
        for name, part, role in named
    ]
    if result.bounds is not None:
        found = result.bounds
        low, high = NOT_COMPUTED, NOT_COMPUTED
        if result.ci95 is not None:  # without an interval of its own, limits of its bounds would look like one
            low, high = points(found.ci_low_pp), points(found.ci_high_pp)
        rows += [
            (
                "bounds: every missing half at its worst, at its best",
                points(found.low_pp),
                points(found.high_pp),
                "check",
            ),
            ("the same with their resampling limits", low, high, "check"),
        ]
    return Table(
        "Intervals for D − B; only the first decides, the others are checks, not extra chances", columns, tuple(rows)
    )


def _qualifications(result: ContrastResult) -> list[Block]:
    notes: list[Line] = [(FLAG_SENTENCES.get(flag, flag),) for flag in result.flags]
    if contains_zero(result):
        notes.append((could_have_missed(result),))
    return [Bullets(tuple(notes))] if notes else []


def detectable(part: ContrastResult | Breakdown) -> str:
    """The smallest difference found with 80 % probability at this size, wherever an interval contains 0."""
    if not contains_zero(part):
        return "–"
    return NOT_COMPUTED if part.mde_pp is None else f"{part.mde_pp:.1f}"


def contains_zero(result: ContrastResult | Breakdown) -> bool:
    """Whether the interval includes 0, or there is none."""
    return result.ci95 is None or result.ci95.low_pp <= 0 <= result.ci95.high_pp


def could_have_missed(result: ContrastResult) -> str:
    """What an interval that contains 0 could not have seen."""
    if result.mde_pp is None:
        return (
            "The interval contains 0 or is missing, and the smallest detectable difference could not be computed from "
            "these data: this run says nothing about how large a difference it could have missed."
        )
    return (
        f"The interval contains 0. With {plural(result.families, 'family', 'families')} and the spread seen here, a "
        f"true difference had to be about {result.mde_pp:.1f} pp to be detected with 80 % probability; smaller ones "
        "are not excluded."
    )


def _checks(analysis: Analysis, result: ContrastResult) -> list[Block]:
    blocks: list[Block] = [
        say(
            f"Exact sign-flip test over families: p = {p_value(result.signflip_p)}, mid-p = "
            f"{p_value(result.signflip_midp)} ({result.signflip_method}). It tests that the labels D and B are "
            "exchangeable within families."
        )
    ]
    if result.mcnemar:
        blocks.append(_mcnemar(result))
    if result.missingness:
        blocks.append(_missingness(result))
    if analysis.validity:
        blocks.append(_validity(analysis.validity))
    if result.self_tests:
        blocks.append(_self_tests(result))
    return blocks


def _mcnemar(result: ContrastResult) -> Table:
    columns = (
        Column("regime", numeric=False),
        Column("only D correct"),
        Column("only B correct"),
        Column("exact p"),
        Column("mid-p"),
    )
    rows = tuple(
        (
            part.lexical,
            str(part.test.plus_only),
            str(part.test.minus_only),
            p_value(part.test.exact_p),
            p_value(part.test.mid_p),
        )
        for part in result.mcnemar
    )
    return Table("McNemar's test within each lexical regime", columns, rows)


def _missingness(result: ContrastResult) -> Table:
    columns = (Column("what", numeric=False), Column("D"), Column("B"), Column("pairs"), Column("exact p"))
    rows = tuple(
        (part.what, str(part.plus_count), str(part.minus_count), str(part.pairs), p_value(part.p))
        for part in result.missingness
    )
    return Table("Do missing trials, truncation and format failures differ between D and B?", columns, rows)


def _validity(rows: Sequence[ValidityRow]) -> Table:
    columns = (
        Column("check", numeric=False),
        Column("number"),
        Column("unit", numeric=False),
        Column("p"),
        Column("alarm", numeric=False),
        Column("note", numeric=False),
    )
    cells = tuple(
        (
            row.name,
            number(row.number),
            row.unit,
            "–" if row.p is None else p_value(row.p),
            Strong("ALARM") if row.alarm else "no",
            row.note or "–",
        )
        for row in rows
    )
    return Table("Validity checks", columns, cells)


def _self_tests(result: ContrastResult) -> Table:
    columns = (Column("self-test", numeric=False), Column("passed", numeric=False), Column("number"), Column("bound"))
    rows = tuple(
        (Code(test.name), "yes" if test.passed else Strong("NO"), number(test.number), number(test.bound))
        for test in result.self_tests
    )
    return Table("Self-tests of the interval on these very data", columns, rows)

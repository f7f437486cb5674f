"""Every notation has a renderer, a parser and a golden file; another notation is only another entry."""

from pathlib import Path

import pytest
from hypothesis import given, settings

from bench.lang.ast import CutPoint
from bench.lang.errors import ParseCode, ParseError
from bench.lang.event_oracle import observe_parsed
from bench.lang.lexicon import NATURAL, nonce
from bench.lang.parse import parse_prefix, parse_program
from bench.lang.prose import describe_syntax
from bench.lang.reference_oracle import observe
from bench.lang.render import prefix_lines, render_prefix, render_program
from bench.lang.syntax import NOTATIONS, Notation, RenderSpec
from bench.lang.walk import events_of
from tests.lang.example_programs import (
    AFTER_CLOSE,
    BEFORE_CLOSE,
    GOLDEN_CUT,
    GOLDEN_PROGRAM,
    GOLDEN_SEEN,
    SPEC_PREFIX_NAMED_END,
    SPEC_PROGRAM,
)
from tests.strategies import cut_programs, programs, render_specs

LEXICONS = {"natural": NATURAL, "nonce5": nonce(5)}
EVERY = pytest.mark.parametrize("name", NOTATIONS)
EVERY_LEXICON = pytest.mark.parametrize("words", LEXICONS)

# section 3.2 of the specification, copied from its table
TABLE = {
    "braces": ("func n_qazwsxed {", "}"),
    "generic_end": ("func n_qazwsxed", "end"),
    "typed_end": ("func n_qazwsxed", "end func"),
    "named_end": ("func n_qazwsxed", "end func n_qazwsxed"),
    "padded_end": ("func n_qazwsxed", "end junk z_aaaaaaaa"),
}


def test_the_five_notations_are_those_of_the_specification():
    """Names and order of section 3.2: reports and schedules list them so."""
    assert list(TABLE) == list(NOTATIONS)
    assert list(NOTATIONS) == [notation.name for notation in NOTATIONS.values()]


@EVERY
def test_opening_and_closing_lines_are_those_of_the_table(name):
    """Rendered lines equal the examples of section 3.2 letter for letter."""
    program = parse_program("func n_qazwsxed\nend\n", RenderSpec(NOTATIONS["generic_end"], NATURAL))
    assert "".join(line + "\n" for line in TABLE[name]) == render_program(program, RenderSpec(NOTATIONS[name], NATURAL))


@EVERY
@EVERY_LEXICON
def test_golden_sources(name, words, golden):
    """SYNTAX prose, whole program and prefix are, byte for byte, those of the golden file."""
    spec = RenderSpec(NOTATIONS[name], LEXICONS[words])
    sections = (
        "".join(line + "\n" for line in describe_syntax(spec)),
        render_program(GOLDEN_PROGRAM, spec),
        render_prefix(GOLDEN_PROGRAM, GOLDEN_CUT, spec),
    )
    golden(f"lang/{name}-{words}.txt", "\n".join(sections))


def test_every_notation_has_its_golden_files_and_no_file_is_left_over():
    """A notation without a golden file is untested; a file without a notation tests nothing."""
    folder = Path(__file__).parent.parent / "golden" / "lang"
    assert sorted(f"{name}-{words}.txt" for name in NOTATIONS for words in LEXICONS) == sorted(
        path.name for path in folder.iterdir()
    )


@EVERY
@EVERY_LEXICON
def test_every_notation_renders_parses_and_answers(name, words):
    """Round trip of the hand-made program, and both oracles see on its prefix what a person sees."""
    spec = RenderSpec(NOTATIONS[name], LEXICONS[words])
    assert GOLDEN_PROGRAM == parse_program(render_program(GOLDEN_PROGRAM, spec), spec)
    parsed = parse_prefix(render_prefix(GOLDEN_PROGRAM, GOLDEN_CUT, spec), spec)
    assert GOLDEN_SEEN == observe_parsed(parsed)
    assert GOLDEN_SEEN == observe(GOLDEN_PROGRAM, GOLDEN_CUT)


@given(program=programs(), spec=render_specs())
@settings(deadline=None)
def test_parsing_undoes_rendering(program, spec):
    """Any program, notation, lexicon and indent: the same tree comes back."""
    assert program == parse_program(render_program(program, spec), spec)


@given(case=cut_programs(), spec=render_specs())
@settings(deadline=None)
def test_a_prefix_holds_the_events_before_its_cut_and_the_probe(case, spec):
    """Nothing behind the cut is shown, nothing before it is missing."""
    program, cut = case
    parsed = parse_prefix(render_prefix(program, cut, spec), spec)
    assert events_of(program)[: cut.event_count] == parsed.events
    assert (cut.probe_id, cut.variable) == (parsed.probe.probe_id, parsed.probe.variable)


def test_the_printed_example_of_the_specification_is_rendered():
    """Section 4.1 with its two spaces of indentation, byte for byte."""
    spec = RenderSpec(NOTATIONS["named_end"], NATURAL, indent=2)
    assert SPEC_PREFIX_NAMED_END == render_prefix(SPEC_PROGRAM, AFTER_CLOSE, spec)


@EVERY
def test_line_i_is_event_i(name):
    """Offsets are looked up by event number; the probe is the last line."""
    lines = prefix_lines(SPEC_PROGRAM, BEFORE_CLOSE, RenderSpec(NOTATIONS[name], NATURAL))
    assert BEFORE_CLOSE.event_count + 1 == len(lines)
    assert ("let x_a 8604", "nop p_abcdefgh", "probe q_zxcvbnma x_a") == tuple(lines[-3:])


@pytest.mark.parametrize("count", [-1, 12])
def test_a_cut_outside_the_program_is_not_rendered(count):
    """The caller's mistake is named, not rendered as something shorter."""
    with pytest.raises(ValueError, match="has 11"):
        render_prefix(SPEC_PROGRAM, CutPoint(count, "q_zxcvbnma", "x_a"), RenderSpec(NOTATIONS["braces"], NATURAL))


@EVERY
def test_renaming_the_words_of_a_natural_source_gives_the_nonce_source(name):
    """The two regimes differ in six words and in nothing else; `junk z_aaaaaaaa` stays."""
    lexicon = LEXICONS["nonce5"]
    renaming = dict(zip(NATURAL.words, lexicon.words, strict=True))
    natural = render_program(GOLDEN_PROGRAM, RenderSpec(NOTATIONS[name], NATURAL))
    renamed = "\n".join(" ".join(renaming.get(word, word) for word in line.split(" ")) for line in natural.split("\n"))
    assert renamed == render_program(GOLDEN_PROGRAM, RenderSpec(NOTATIONS[name], lexicon))


@EVERY_LEXICON
def test_named_and_padded_terminators_have_equally_many_characters(words):
    """Section 3.2: D and E closing lines are equally long, in every lexicon."""
    sources = [
        render_program(GOLDEN_PROGRAM, RenderSpec(NOTATIONS[n], LEXICONS[words])) for n in ("named_end", "padded_end")
    ]
    lengths = [[len(line) for line in source.split("\n")] for source in sources]
    assert lengths[0] == lengths[1]


@EVERY_LEXICON
def test_syntax_prose_differs_between_notations_only_where_blocks_open_and_close(words):
    """Three of the lines belong to the notation: opening, closing and the note on closing."""
    texts = [describe_syntax(RenderSpec(notation, LEXICONS[words])) for notation in NOTATIONS.values()]
    assert 1 == len({len(text) for text in texts})
    differing = {index for lines in texts for index, line in enumerate(lines) if line != texts[0][index]}
    assert {2, 3, 4} == differing


@EVERY
@EVERY_LEXICON
def test_syntax_prose_names_no_condition(name, words):
    """No notation name or letter reaches a model."""
    text = "\n".join(describe_syntax(RenderSpec(NOTATIONS[name], LEXICONS[words]))).lower()
    labels = [label for label in (*NOTATIONS, "natural", "nonce", "padded", "generic", "redundan") if label in text]
    assert [] == labels


def test_syntax_prose_of_whole_programs_mentions_no_probe():
    """For generation there is no observation line to describe."""
    spec = RenderSpec(NOTATIONS["named_end"], nonce(1))
    assert 1 == len(set(describe_syntax(spec)) - set(describe_syntax(spec, with_probe=False)))
    assert "probe" not in "\n".join(describe_syntax(spec, with_probe=False))


WRONG_NAME = Notation(
    name="planted_end",
    opener="<kind> <name>",
    closer="<end> <kind> <alias>",
    closing_note="The closing line gives the KIND of the block that it closes, and OTHER, a name.",
)
ALIASES = {"n_qazwsxed": "n_plmoknij", "n_plmoknij": "n_uhbygvtf", "n_uhbygvtf": "n_qazwsxed"}


def test_a_sixth_notation_with_wrong_closing_names_is_only_data():
    """Its terminators carry mapped names, and renderer, parser, prose and oracle handle it without a line of code."""
    spec = RenderSpec(WRONG_NAME, NATURAL, aliases=ALIASES)
    text = render_program(SPEC_PROGRAM, spec)
    assert ["end area n_qazwsxed", "end func n_uhbygvtf", "end unit n_plmoknij"] == text.split("\n")[-4:-1]
    assert SPEC_PROGRAM == parse_program(text, spec)
    parsed = parse_prefix(render_prefix(SPEC_PROGRAM, AFTER_CLOSE, spec), spec)
    assert observe(SPEC_PROGRAM, AFTER_CLOSE) == observe_parsed(parsed)
    assert "Closing line of the innermost open block: end KIND OTHER" in describe_syntax(spec)


def test_the_sixth_notation_refuses_the_true_name_where_the_mapping_says_another():
    """What must stand there is the mapped name, and nothing else."""
    spec = RenderSpec(WRONG_NAME, NATURAL, aliases=ALIASES)
    for aliases in (ALIASES, {}):
        with pytest.raises(ParseError) as caught:
            parse_program("unit n_qazwsxed\nend unit n_qazwsxed\n", RenderSpec(WRONG_NAME, NATURAL, aliases=aliases))
        assert ParseCode.CLOSE_NAME_MISMATCH == caught.value.code
    assert "n_qazwsxed" == parse_program("unit n_qazwsxed\nend unit n_plmoknij\n", spec).body[0].name


@EVERY
def test_aliases_change_no_byte_of_the_five_notations(name):
    """A case may carry the mapping; only a notation that asks for it reads it."""
    plain, mapped = (RenderSpec(NOTATIONS[name], NATURAL, aliases=aliases) for aliases in ({}, ALIASES))
    assert render_program(SPEC_PROGRAM, plain) == render_program(SPEC_PROGRAM, mapped)
    assert SPEC_PROGRAM == parse_program(render_program(SPEC_PROGRAM, mapped), mapped)

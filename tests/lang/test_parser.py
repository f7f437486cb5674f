"""The strict parser: what it accepts, and the code, line and column of the first thing it refuses."""

import pytest

from bench.lang.ast import Kind, Let, Program, Scope
from bench.lang.errors import ParseCode, ParseError
from bench.lang.events import Close, Open, ParsedPrefix, Probe
from bench.lang.lexicon import NATURAL, nonce
from bench.lang.names import MAX_DEPTH
from bench.lang.parse import parse_prefix, parse_program
from bench.lang.render import render_program
from bench.lang.syntax import NOTATIONS, RenderSpec
from tests.lang.example_programs import SPEC_PROGRAM

SPECS = {name: RenderSpec(notation, NATURAL) for name, notation in NOTATIONS.items()}
OPEN = {name: "unit n_aaaaaaaa {" if name == "braces" else "unit n_aaaaaaaa" for name in NOTATIONS}
CLOSE = {
    "braces": "}",
    "generic_end": "end",
    "typed_end": "end unit",
    "named_end": "end unit n_aaaaaaaa",
    "padded_end": "end junk z_aaaaaaaa",
}
EVERY = pytest.mark.parametrize("name", NOTATIONS)

# notation, text, code, line, column: whole programs
REFUSED_PROGRAMS = [
    ("named_end", "unit n_aaaaaaaa\nend unit n_bbbbbbbb\n", "close_name_mismatch", 2, 10),
    ("named_end", "unit n_aaaaaaaa\nend func n_aaaaaaaa\n", "close_kind_mismatch", 2, 5),
    ("named_end", "unit n_aaaaaaaa\nend func n_bbbbbbbb\n", "close_kind_mismatch", 2, 5),
    ("named_end", "unit n_aaaaaaaa\nfunc n_bbbbbbbb\nend unit n_aaaaaaaa\n", "close_kind_mismatch", 3, 5),
    ("named_end", "unit n_aaaaaaaa\nunit n_bbbbbbbb\nend unit n_aaaaaaaa\n", "close_name_mismatch", 3, 10),
    ("named_end", "unit n_aaaaaaaa\nend\n", "malformed_close", 2, 4),
    ("named_end", "unit n_aaaaaaaa\nend unit\n", "malformed_close", 2, 9),
    ("named_end", "unit n_aaaaaaaa\nend unit n_aaaaaaaa x\n", "malformed_close", 2, 21),
    ("typed_end", "unit n_aaaaaaaa\nend func\n", "close_kind_mismatch", 2, 5),
    ("typed_end", "unit n_aaaaaaaa\nend\n", "malformed_close", 2, 4),
    ("typed_end", "unit n_aaaaaaaa\nend unit n_aaaaaaaa\n", "malformed_close", 2, 10),
    ("generic_end", "unit n_aaaaaaaa\nend unit\n", "malformed_close", 2, 5),
    ("padded_end", "unit n_aaaaaaaa\nend junk z_aaaaaaab\n", "close_suffix_mismatch", 2, 10),
    ("padded_end", "unit n_aaaaaaaa\nend jUnk z_aaaaaaaa\n", "close_suffix_mismatch", 2, 5),
    ("padded_end", "unit n_aaaaaaaa\nend unit n_aaaaaaaa\n", "close_suffix_mismatch", 2, 5),
    ("padded_end", "unit n_aaaaaaaa\nend\n", "malformed_close", 2, 4),
    ("braces", "unit n_aaaaaaaa {\nend\n", "unknown_statement", 2, 1),
    ("braces", "unit n_aaaaaaaa {\n} }\n", "malformed_close", 2, 3),
    ("braces", "unit n_aaaaaaaa\n}\n", "malformed_statement", 1, 16),
    ("braces", "unit n_aaaaaaaa{\n}\n", "malformed_statement", 1, 17),
    ("braces", "unit n_aaaaaaaa [\n}\n", "malformed_statement", 1, 17),
    ("generic_end", "unit n_aaaaaaaa {\nend\n", "malformed_statement", 1, 17),
    ("generic_end", "unit\n", "malformed_statement", 1, 5),
    ("generic_end", "unit n_aaaaaaa\n", "bad_block_name", 1, 6),
    ("generic_end", "unit n_aaaaaaaaa\n", "bad_block_name", 1, 6),
    ("generic_end", "unit n_aaaaaaaA\n", "bad_block_name", 1, 6),
    ("generic_end", "unit n_aaaaaaa\u00e9\n", "bad_block_name", 1, 6),
    ("generic_end", "unit p_aaaaaaaa\n", "bad_block_name", 1, 6),
    ("generic_end", "unit n_aaaaaaaa\nend\nfunc n_aaaaaaaa\nend\n", "duplicate_block_name", 3, 6),
    ("generic_end", "unit n_aaaaaaaa\nfunc n_aaaaaaaa\nend\nend\n", "duplicate_block_name", 2, 6),
    ("generic_end", "let x_g 1000\n", "bad_variable", 1, 5),
    ("generic_end", "let a 1000\n", "bad_variable", 1, 5),
    ("generic_end", "let x_a 999\n", "bad_value", 1, 9),
    ("generic_end", "let x_a 10000\n", "bad_value", 1, 9),
    ("generic_end", "let x_a 0999\n", "bad_value", 1, 9),
    ("generic_end", "let x_a +999\n", "bad_value", 1, 9),
    ("generic_end", "let x_a 1_00\n", "bad_value", 1, 9),
    ("generic_end", "let x_a \u0661234\n", "bad_value", 1, 9),
    ("generic_end", "let x_a = 1000\n", "malformed_statement", 1, 11),
    ("generic_end", "let x_a\n", "malformed_statement", 1, 8),
    ("generic_end", "let x_a 1000\nlet x_a 2000\n", "redefinition", 2, 5),
    ("generic_end", "unit n_aaaaaaaa\nlet x_a 1000\nlet x_a 2000\nend\n", "redefinition", 3, 5),
    ("generic_end", "nop\n", "malformed_statement", 1, 4),
    ("generic_end", "nop p_aaaaaaa1\n", "bad_payload", 1, 5),
    ("generic_end", "nop p_aaaaaaaa p_bbbbbbbb\n", "malformed_statement", 1, 16),
    ("generic_end", "probe q_aaaaaaaa x_a\n", "probe_in_program", 1, 1),
    ("generic_end", "let  x_a 1000\n", "bad_separator", 1, 5),
    ("generic_end", "let\tx_a 1000\n", "bad_separator", 1, 1),
    ("generic_end", "let x_a 1000; let x_b 2000\n", "malformed_statement", 1, 15),
    ("generic_end", "# a comment\n", "unknown_statement", 1, 1),
    ("generic_end", "```\nlet x_a 1000\n```\n", "unknown_statement", 1, 1),
    ("generic_end", "  \n\n  Let x_a 1000\n", "unknown_statement", 3, 3),
    ("generic_end", "let x_a 1000\rlet x_b 1001\n", "malformed_statement", 1, 18),
    ("generic_end", "let x_a 1000\x0b\n", "bad_value", 1, 9),
    ("generic_end", "\u00a0let x_a 1000\n", "unknown_statement", 1, 1),
    ("generic_end", "\ufefflet x_a 1000\n", "unknown_statement", 1, 1),
    ("generic_end", "unit n_aaaaaaaa", "unclosed_scope", 1, 16),
    ("generic_end", "unit n_aaaaaaaa\n", "unclosed_scope", 2, 1),
    ("generic_end", "gcij n_aaaaaaaa\n", "unknown_statement", 1, 1),
]


def first_error(parse, text, spec):
    """Code, line and column of the first error."""
    with pytest.raises(ParseError) as caught:
        parse(text, spec)
    return caught.value.code, caught.value.line, caught.value.column


@pytest.mark.parametrize(("name", "text", "code", "line", "column"), REFUSED_PROGRAMS)
def test_a_program_is_refused_at_its_first_error(name, text, code, line, column):
    """Each departure has its code, at the word that departs."""
    assert (ParseCode(code), line, column) == first_error(parse_program, text, SPECS[name])


@EVERY
def test_a_close_in_the_global_scope_is_an_underflow(name):
    """The global scope never closes, neither in a program nor in a prefix."""
    text = f"{OPEN[name]}\n{CLOSE[name]}\n{CLOSE[name]}\n"
    assert (ParseCode.UNDERFLOW, 3, 1) == first_error(parse_program, text, SPECS[name])
    assert (ParseCode.UNDERFLOW, 3, 1) == first_error(parse_prefix, text, SPECS[name])


@EVERY
def test_open_blocks_at_the_end_are_normal_in_a_prefix_and_an_error_in_a_program(name):
    """The two modes differ: a prefix is cut off on purpose, a program has to be complete."""
    block = Open(Kind.UNIT, "n_aaaaaaaa")
    prefix = f"{OPEN[name]}\nprobe q_aaaaaaaa x_a\n"
    assert ParsedPrefix((block,), Probe("q_aaaaaaaa", "x_a")) == parse_prefix(prefix, SPECS[name])
    assert (ParseCode.UNCLOSED_SCOPE, 2, 1) == first_error(parse_program, OPEN[name] + "\n", SPECS[name])


@EVERY
@pytest.mark.parametrize("rest", ["nop p_aaaaaaaa", "probe q_bbbbbbbb x_a", "CLOSE", "anything"])
def test_nothing_follows_the_probe_of_a_prefix(name, rest):
    """Not a statement, not a close, not a second probe; blank lines may."""
    start = f"{OPEN[name]}\nprobe q_aaaaaaaa x_a\n \n"
    rest = rest.replace("CLOSE", CLOSE[name])
    assert (ParseCode.TEXT_AFTER_PROBE, 4, 2) == first_error(parse_prefix, f"{start} {rest}\n", SPECS[name])
    parse_prefix(start, SPECS[name])


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("", "missing_probe", 1, 1),
        ("let x_a 1000", "missing_probe", 1, 13),
        ("let x_a 1000\n", "missing_probe", 2, 1),
        ("probe q_aaaaaaaa\n", "malformed_statement", 1, 17),
        ("probe p_aaaaaaaa x_a\n", "bad_probe_id", 1, 7),
        ("probe q_aaaaaaaa x_z\n", "bad_variable", 1, 18),
    ],
)
def test_a_prefix_ends_with_one_well_formed_probe(text, code, line, column):
    """A missing or malformed probe is refused by name."""
    assert (ParseCode(code), line, column) == first_error(parse_prefix, text, SPECS["generic_end"])


@EVERY
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\n\n \t \r\n"),
        lambda text: text.replace("\n", " \t\n\t "),
        lambda text: "\n" + text.removesuffix("\n"),
    ],
    ids=["CRLF", "blank lines", "spaces and tabs at both ends", "no LF at the end"],
)
def test_line_ends_blank_lines_and_outer_space_mean_nothing(name, change):
    """The same program comes out of every accepted spelling of the space between lines."""
    text = render_program(SPEC_PROGRAM, SPECS[name])
    assert text != change(text)
    assert SPEC_PROGRAM == parse_program(change(text), SPECS[name])


def test_columns_count_from_the_line_as_written():
    """Leading space shifts the column; CR and trailing space do not."""
    text = "   let x_a 12  \r\n"
    assert (ParseCode.BAD_VALUE, 1, 12) == first_error(parse_program, text, SPECS["braces"])


def test_the_same_name_may_be_bound_in_another_scope():
    """Shadowing and sequence are legal; only the same scope twice is not."""
    text = "let x_a 1000\nunit n_aaaaaaaa\nlet x_a 1001\nend\nunit n_bbbbbbbb\nlet x_a 1002\nend\n"
    expected = Program(
        (
            Let("x_a", 1000),
            Scope(Kind.UNIT, "n_aaaaaaaa", (Let("x_a", 1001),)),
            Scope(Kind.UNIT, "n_bbbbbbbb", (Let("x_a", 1002),)),
        )
    )
    assert expected == parse_program(text, SPECS["generic_end"])


def test_words_of_one_lexicon_are_unknown_in_another():
    """A nonce program is no natural program and the reverse."""
    natural, other = SPECS["named_end"], RenderSpec(NOTATIONS["named_end"], nonce(2))
    assert ParseCode.UNKNOWN_STATEMENT == first_error(parse_program, render_program(SPEC_PROGRAM, natural), other)[0]
    assert ParseCode.UNKNOWN_STATEMENT == first_error(parse_program, render_program(SPEC_PROGRAM, other), natural)[0]


@pytest.mark.parametrize("name", ["braces", "generic_end", "typed_end", "named_end", "padded_end"])
@pytest.mark.parametrize("other", ["braces", "generic_end", "typed_end", "named_end", "padded_end"])
def test_no_notation_accepts_the_text_of_another(name, other):
    """The answer must be in the notation that was asked for."""
    if name != other:
        text = render_program(SPEC_PROGRAM, SPECS[other])
        with pytest.raises(ParseError):
            parse_program(text, SPECS[name])


def test_the_deepest_accepted_nesting():
    """MAX_DEPTH blocks parse; one more is refused where it opens."""
    names = [f"n_aaaaaa{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(MAX_DEPTH + 1)]
    opens = [f"unit {name}" for name in names]
    parsed = parse_program("\n".join(opens[:-1] + ["end"] * MAX_DEPTH), SPECS["generic_end"])
    assert "n_aaaaaaaa" == parsed.body[0].name
    deeper = "\n".join(opens + ["end"] * len(opens))
    assert (ParseCode.TOO_DEEP, MAX_DEPTH + 1, 1) == first_error(parse_program, deeper, SPECS["generic_end"])


def test_parsed_events_come_in_the_order_of_the_lines():
    """One event per line, the probe apart."""
    text = "let x_a 1000\nunit n_aaaaaaaa\nend unit\nprobe q_aaaaaaaa x_a\n"
    expected = (Let("x_a", 1000), Open(Kind.UNIT, "n_aaaaaaaa"), Close())
    assert expected == parse_prefix(text, SPECS["typed_end"]).events


def test_the_empty_text_is_the_empty_program():
    """A program without statements is legal; a prefix without a probe is not."""
    assert Program(()) == parse_program("", SPECS["braces"])

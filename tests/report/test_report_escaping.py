"""What a model or server wrote is inert wherever the report shows it."""

from __future__ import annotations

import csv
import io
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bench.report import escaping

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = [
    "\x1b[2J\x1b]0;owned\x07",
    "\u202egnp.exe",
    "<script>alert(1)</script>",
    "![x](http://evil.example/p.png)",
    "[click](javascript:alert(1))",
    "```\n# heading\n```",
    "| a | b |\n|---|---|",
    "&lt;b&gt;",
    "1. one",
    "2) two",
    "# title",
    "---",
    "- - -",
    "+",
    "===",
    "    indented",
    "***",
    "~~~",
    "- item",
    "a\u200bb\u00a0c\u2028d",
    '=HYPERLINK("http://evil.example")',
]


def rendered_inline(source: str) -> list[tuple[str, str]]:
    tokens = MARKDOWN.parse(source)
    assert ["paragraph_open", "inline", "paragraph_close"] == [token.type for token in tokens]
    return [(child.type, child.content) for child in tokens[1].children or []]


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain words\n2nd line", "plain words\n2nd line"),
        ("\x1b[31mred", "⟨U+001B⟩[31mred"),
        ("\u202eabc", "⟨U+202E⟩abc"),
        ("a\tb\r", "a⟨U+0009⟩b⟨U+000D⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("日本語 é", "日本語 é"),
        ("\U000e0041", "⟨U+E0041⟩"),
    ],
)
def test_characters_that_act_unseen_are_named(raw: str, shown: str) -> None:
    """Escapes, bidi marks, tabs, surrogates and tag characters are written out; letters of any language stay."""
    assert shown == escaping.visible(raw)


@given(st.text())
def test_visible_text_has_no_hidden_character_and_is_stable(text: str) -> None:
    """A second pass finds nothing left to name, and only line feeds remain of the control characters."""
    once = escaping.visible(text)
    assert once == escaping.visible(once)
    assert not [char for char in once if ord(char) < 32 and char != "\n"]


def test_a_16_mib_answer_is_cut_to_head_and_tail() -> None:
    """Sixteen mebibytes become a screenful that says how much is missing."""
    cut = escaping.excerpt("a" * 2**24 + "z", head=10, tail=1)
    assert 2**24 + 1 - 11 == cut.left_out
    assert "aaaaaaaaaa\n[… 16,777,206 characters left out …]\nz" == cut.shown


def test_a_short_answer_is_shown_whole() -> None:
    """Up to head + tail characters nothing is left out."""
    assert escaping.Excerpt("4711", 0) == escaping.excerpt("4711", head=2, tail=2)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_text_in_markdown(text: str) -> None:
    """A Markdown reader sees one paragraph of text with the very characters, no link, HTML, list or table."""
    inline = rendered_inline(escaping.markdown_paragraph(escaping.markdown_text(text)))
    assert {"text"} >= {kind for kind, _ in inline} - {"text_special"}
    assert escaping.one_line(text).strip() == "".join(content for _, content in inline).strip()


@given(st.text(alphabet=st.sampled_from("ab_*`[]()<>|~#+-=!&;:1.\\ \n\x1b"), min_size=1).filter(str.strip))
def test_any_punctuation_is_only_text_in_markdown(text: str) -> None:
    """No combination of active characters gets through."""
    inline = rendered_inline(escaping.markdown_paragraph(escaping.markdown_text(text)))
    assert set() == {kind for kind, _ in inline} - {"text", "text_special"}


@given(st.text(alphabet=st.sampled_from("ab`| \n"), min_size=1).filter(str.strip))
def test_a_code_span_keeps_its_backticks(text: str) -> None:
    """The span holds the text, whatever backticks it contains."""
    inline = rendered_inline("x " + escaping.markdown_code(text))
    assert [("text", "x "), ("code_inline", escaping.one_line(text))] == inline


@given(st.text(alphabet=st.sampled_from("ab`~ \n#")))
def test_no_line_closes_a_fenced_block(text: str) -> None:
    """A fence inside the text does not end the block."""
    tokens = MARKDOWN.parse(escaping.markdown_block(text))
    assert [("fence", text + "\n")] == [(token.type, token.content) for token in tokens]


def test_a_pipe_does_not_split_a_table_cell() -> None:
    """In a table the pipe of an answer stays inside its cell."""
    source = f"| h |\n|---|\n| {escaping.markdown_code('a|b', in_table=True)} |\n"
    cells = [token.children for token in MARKDOWN.parse(source) if token.type == "inline"][1:]
    assert [["a|b"]] == [[child.content for child in cell or []] for cell in cells]


@pytest.mark.parametrize("text", HOSTILE)
def test_html_has_no_tag_of_the_text(text: str) -> None:
    """An HTML parser finds no element and reads the visible characters back."""
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            found.append(tag)

    seen: list[str] = []
    reader = Reader()
    reader.handle_data = seen.append  # type: ignore[method-assign]
    reader.feed(escaping.html_text(text))
    reader.close()
    assert [] == found
    assert escaping.visible(text) == "".join(seen)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", " =", "\uff1d"])
def test_no_text_cell_starts_a_formula(start: str) -> None:
    """A cell that a spreadsheet would compute starts with an apostrophe."""
    assert escaping.csv_cell(start + "cmd").startswith("'")


def test_numbers_stay_numbers_in_csv() -> None:
    """A negative difference is a number, not a guarded text."""
    assert ["-5.25", "3", "", "true", "plain"] == [
        escaping.csv_cell(value) for value in (-5.25, 3, None, True, "plain")
    ]


@given(st.text())
def test_a_csv_row_stays_one_line(text: str) -> None:
    """Whatever the text, a row has one line and reads back as one cell."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow([escaping.csv_cell(text), "end"])
    assert 1 == buffer.getvalue().count("\n")
    assert [[escaping.csv_cell(text), "end"]] == list(csv.reader(io.StringIO(buffer.getvalue())))

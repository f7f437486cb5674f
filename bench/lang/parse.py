"""Strict line parser: text to a program or to the events of a prefix, or the first `ParseError`.

Shares no code with the renderer. Whatever the text, nothing but ParseError comes out: no recursion, no pattern of
unbounded length, no message that quotes more than a few characters.

Accepted beyond the canonical form are spaces and tabs at both ends of a line, CRLF for LF, and blank lines. Words are
separated by exactly one space.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, NoReturn

from bench.lang import syntax
from bench.lang.ast import Kind, Let, Nop, Program, Scope
from bench.lang.errors import ParseCode, ParseError
from bench.lang.events import Close, Open, ParsedPrefix, Probe
from bench.lang.lexicon import PROBE_WORD
from bench.lang.names import BLOCK_NAME, MAX_DEPTH, NOP_ID, PROBE_ID, VALUE, VARIABLE

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from bench.lang.ast import Stmt
    from bench.lang.events import Event
    from bench.lang.syntax import RenderSpec

_BLANK = " \t"
_MOST_WORDS = 8  # no template is longer; what follows the eighth word stays one piece
_QUOTED = 24  # characters of a word that a message may show


def parse_program(text: str, spec: RenderSpec) -> Program:
    """The whole program that ``text`` is: every block closed, no probe; ParseError at the first place that is not."""
    reader = _Reader(spec)
    for line in _lines(text):
        reader.read(line)
        if reader.probe is not None:
            line.refuse(ParseCode.PROBE_IN_PROGRAM, 0, "a whole program has no probe")
    if reader.scopes:
        count, innermost = len(reader.scopes), reader.scopes[-1].block.name
        raise ParseError(ParseCode.UNCLOSED_SCOPE, *_end_of(text), f"{count} blocks still open, innermost {innermost}")
    return _tree(reader.events)


def parse_prefix(text: str, spec: RenderSpec) -> ParsedPrefix:
    """The events of ``text`` and the one probe at its end; blocks may still be open there; ParseError if it is none."""
    reader = _Reader(spec)
    for line in _lines(text):
        if reader.probe is not None:
            line.refuse(ParseCode.TEXT_AFTER_PROBE, 0, "the probe ends a prefix")
        reader.read(line)
    if reader.probe is None:
        raise ParseError(ParseCode.MISSING_PROBE, *_end_of(text), "a prefix ends with a probe line")
    return ParsedPrefix(tuple(reader.events), reader.probe)


@dataclass(frozen=True, slots=True)
class _Line:
    """One line that is not blank: its number, the column where it starts, its words."""

    number: int
    start: int
    words: tuple[str, ...]

    def refuse(self, code: ParseCode, word: int, expectation: str) -> NoReturn:
        """Raise at word number ``word``, or just behind the line if it has fewer."""
        column = self.start + sum(len(text) + 1 for text in self.words[:word])
        if word >= len(self.words):
            column -= 1
            raise ParseError(code, self.number, column, f"{expectation}; the line ends")
        raise ParseError(code, self.number, column, f"{expectation}; got {self.words[word][:_QUOTED]!a}")

    def expect(self, pattern: re.Pattern[str], word: int, code: ParseCode) -> str:
        """Word number ``word`` if it matches ``pattern`` from end to end."""
        if pattern.fullmatch(self.words[word]) is None:
            self.refuse(code, word, f"expected {pattern.pattern}")
        return self.words[word]

    def expect_count(self, count: int, code: ParseCode) -> None:
        """Refuse the line unless it has ``count`` words, at the first word too many or at its end."""
        if len(self.words) != count:
            self.refuse(code, min(count, len(self.words)), f"expected {count} words")


def _lines(text: str) -> Iterator[_Line]:
    for number, ended in enumerate(io.StringIO(text, newline="\n"), start=1):
        raw = ended.removesuffix("\n").removesuffix("\r")
        content = raw.strip(_BLANK)
        if content:
            start = len(raw) - len(raw.lstrip(_BLANK)) + 1
            yield _Line(number, start, tuple(content.split(" ", _MOST_WORDS)))


def _end_of(text: str) -> tuple[int, int]:
    """Line and column just behind the last character."""
    return text.count("\n") + 1, len(text) - text.rfind("\n")


class _Statement(Enum):
    OPEN = auto()
    CLOSE = auto()
    LET = auto()
    NOP = auto()
    PROBE = auto()


@dataclass(slots=True)
class _OpenScope:
    block: Open
    bound: set[str] = field(default_factory=set)


class _Reader:
    """Reads lines in order and keeps what later lines are judged by; raises at the first line that does not fit."""

    def __init__(self, spec: RenderSpec) -> None:
        self.events: list[Event] = []
        self.scopes: list[_OpenScope] = []
        self.probe: Probe | None = None
        self._spec = spec
        self._kinds = {spec.lexicon.kind_word(kind): kind for kind in Kind}
        self._first_words = _first_words(spec)
        self._global_bound: set[str] = set()
        self._names: set[str] = set()

    def read(self, line: _Line) -> None:
        """Take one line in."""
        statement = self._first_words.get(line.words[0].split("\t", 1)[0])
        if statement is None:
            line.refuse(ParseCode.UNKNOWN_STATEMENT, 0, "no statement begins like this")
        for position, word in enumerate(line.words):
            if not word or "\t" in word:
                line.refuse(ParseCode.BAD_SEPARATOR, position, "expected one space between words")
        match statement:
            case _Statement.OPEN:
                self._open(line)
            case _Statement.CLOSE:
                self._close(line)
            case _Statement.LET:
                self._let(line)
            case _Statement.NOP:
                line.expect_count(2, ParseCode.MALFORMED_STATEMENT)
                self.events.append(Nop(line.expect(NOP_ID, 1, ParseCode.BAD_PAYLOAD)))
            case _Statement.PROBE:
                self._probe(line)

    def _open(self, line: _Line) -> None:
        template = self._spec.notation.opener_words
        line.expect_count(len(template), ParseCode.MALFORMED_STATEMENT)
        kind, name = self._kinds[line.words[0]], ""
        for position, part in enumerate(template[1:], start=1):
            if part == syntax.NAME:
                name = line.expect(BLOCK_NAME, position, ParseCode.BAD_BLOCK_NAME)
                if name in self._names:
                    line.refuse(ParseCode.DUPLICATE_BLOCK_NAME, position, "block names are unique")
            elif line.words[position] != part:
                line.refuse(ParseCode.MALFORMED_STATEMENT, position, f"expected {part}")
        if len(self.scopes) == MAX_DEPTH:
            line.refuse(ParseCode.TOO_DEEP, 0, f"at most {MAX_DEPTH} blocks may be open")
        self._names.add(name)
        block = Open(kind, name)
        self.scopes.append(_OpenScope(block))
        self.events.append(block)

    def _close(self, line: _Line) -> None:
        template = self._spec.notation.closer_words
        line.expect_count(len(template), ParseCode.MALFORMED_CLOSE)
        if not self.scopes:
            line.refuse(ParseCode.UNDERFLOW, 0, "no block is open")
        block = self.scopes[-1].block
        for position, part in enumerate(template):
            expected, code = self._closing_word(part, block)
            if line.words[position] != expected:
                line.refuse(code, position, f"expected {expected}")
        self.scopes.pop()
        self.events.append(Close())

    def _closing_word(self, part: str, block: Open) -> tuple[str | None, ParseCode]:
        """What ``part`` of the closing template must read for ``block``, and the code if it does not."""
        match part:
            case syntax.KIND:
                return self._spec.lexicon.kind_word(block.kind), ParseCode.CLOSE_KIND_MISMATCH
            case syntax.NAME:
                return block.name, ParseCode.CLOSE_NAME_MISMATCH
            case syntax.ALIAS:
                return self._spec.aliases.get(block.name), ParseCode.CLOSE_NAME_MISMATCH
            case syntax.END:
                return self._spec.lexicon.end, ParseCode.CLOSE_SUFFIX_MISMATCH
            case _:
                return part, ParseCode.CLOSE_SUFFIX_MISMATCH

    def _let(self, line: _Line) -> None:
        line.expect_count(3, ParseCode.MALFORMED_STATEMENT)
        variable = line.expect(VARIABLE, 1, ParseCode.BAD_VARIABLE)
        value = int(line.expect(VALUE, 2, ParseCode.BAD_VALUE))
        bound = self.scopes[-1].bound if self.scopes else self._global_bound
        if variable in bound:
            line.refuse(ParseCode.REDEFINITION, 1, "already bound in this scope")
        bound.add(variable)
        self.events.append(Let(variable, value))

    def _probe(self, line: _Line) -> None:
        line.expect_count(3, ParseCode.MALFORMED_STATEMENT)
        probe_id = line.expect(PROBE_ID, 1, ParseCode.BAD_PROBE_ID)
        self.probe = Probe(probe_id, line.expect(VARIABLE, 2, ParseCode.BAD_VARIABLE))


def _first_words(spec: RenderSpec) -> dict[str, _Statement]:
    """Which statement each first word begins; words of a lexicon are distinct, so the first word decides."""
    closing = spec.notation.closer_words[0]
    return {
        **dict.fromkeys((spec.lexicon.kind_word(kind) for kind in Kind), _Statement.OPEN),
        spec.lexicon.end if closing == syntax.END else closing: _Statement.CLOSE,
        spec.lexicon.let: _Statement.LET,
        spec.lexicon.nop: _Statement.NOP,
        PROBE_WORD: _Statement.PROBE,
    }


def _tree(events: Iterable[Event]) -> Program:
    """The program whose events are ``events``; the reader has checked that every block is closed."""
    bodies: list[list[Stmt]] = [[]]
    blocks: list[Open] = []
    for event in events:
        match event:
            case Open():
                blocks.append(event)
                bodies.append([])
            case Close():
                block, body = blocks.pop(), bodies.pop()
                bodies[-1].append(Scope(block.kind, block.name, tuple(body)))
            case _:
                bodies[-1].append(event)
    return Program(tuple(bodies[0]))

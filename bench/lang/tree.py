"""Programs as JSON values: nested lists, one per statement. No bytes are read or written here.

``["let", "x_a", 1048]`` · ``["nop", "p_abcdefgh"]`` · ``["unit", "n_qazwsxed", [ ...statements... ]]``; a program is
the list of its statements. The words are those of the natural lexicon, whatever a program was rendered in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.lang.ast import Kind, Let, Nop, Program, Scope
from bench.lang.errors import TreeError
from bench.lang.names import BLOCK_NAME, MAX_DEPTH, MAX_VALUE, MIN_VALUE, NOP_ID, VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.lang.ast import Stmt


def program_to_json(program: Program) -> list[object]:
    """The statements of ``program`` as nested lists of strings and integers."""
    return _body_to_json(program.body)


def _body_to_json(body: Iterable[Stmt]) -> list[object]:
    return [_stmt_to_json(stmt) for stmt in body]


def _stmt_to_json(stmt: Stmt) -> list[object]:
    match stmt:
        case Let(variable, value):
            return ["let", variable, value]
        case Nop(payload):
            return ["nop", payload]
        case Scope(kind, name, body):
            return [kind.value, name, _body_to_json(body)]


@dataclass(slots=True)
class _Frame:
    """A body that is being read: what is left of it, what was read, and the block it belongs to."""

    left: list[object]
    kind: Kind = Kind.UNIT
    name: str = ""
    done: list[Stmt] = field(default_factory=list)


def program_from_json(value: object) -> Program:
    """The program that ``value`` describes; TreeError if it describes none, or one deeper than parsers accept."""
    root = _Frame(_body(value))
    frames = [root]
    while True:
        frame = frames[-1]
        if frame.left:
            stmt = _leaf_or_frame(frame.left.pop())
            if isinstance(stmt, _Frame):
                if len(frames) > MAX_DEPTH:
                    raise TreeError(f"more than {MAX_DEPTH} blocks inside each other")
                frames.append(stmt)
            else:
                frame.done.append(stmt)
        elif frame is root:
            return Program(tuple(frame.done))
        else:
            frames.pop()
            frames[-1].done.append(Scope(frame.kind, frame.name, tuple(frame.done)))


def _body(value: object) -> list[object]:
    """The statements of a body, last first, so that reading can pop them."""
    if not isinstance(value, list):
        raise TreeError(f"expected a list of statements, got {type(value).__name__}")
    return value[::-1]


def _leaf_or_frame(value: object) -> Let | Nop | _Frame:
    match value:
        case ["let", str(variable), int(number)] if VARIABLE.fullmatch(variable) and MIN_VALUE <= number <= MAX_VALUE:
            return Let(variable, number)
        case ["nop", str(payload)] if NOP_ID.fullmatch(payload):
            return Nop(payload)
        case [("unit" | "func" | "area") as kind, str(name), list(body)] if BLOCK_NAME.fullmatch(name):
            return _Frame(_body(body), Kind(kind), name)
    raise TreeError("expected [let, variable, value], [nop, payload] or [kind, name, body]")

"""A program as a neutral table of nodes (specification, section 4.3), and back.

No notation and no lexicon: kinds are the plain words unit, func and area. Parents stand before their children; which
sibling stands first, and every node's id, are drawn, so that neither tells the order of the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bench.data.java_random import JavaRandom
from bench.data.seeds import child_seed
from bench.lang.ast import Kind, Let, Nop, Program, Scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.data.family import Family
    from bench.lang.ast import Stmt

COLUMNS = ("node", "parent", "order", "tag", "kind", "name", "variable", "value", "payload")
ROOT_ID = "r"
_NOTHING = "-"
_ID_LETTERS = "abcdefghjkmnpqstuvwxyz"


class TableError(ValueError):
    """Text that is no table of one program."""


class _Row(NamedTuple):
    node: str
    parent: str
    order: str
    tag: str
    kind: str = _NOTHING
    name: str = _NOTHING
    variable: str = _NOTHING
    value: str = _NOTHING
    payload: str = _NOTHING


def family_table(family: Family) -> str:
    """The table of a family's program: drawn with a child of its identifier seed, so it never changes."""
    return render_table(family.program, JavaRandom(child_seed(family.seeds["identifier"], "table", 0)))


def render_table(program: Program, random: JavaRandom) -> str:
    """The table, header first, columns aligned by blanks, every line ended by LF."""
    rows = [COLUMNS, *_rows(program, random)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "".join(line + "\n" for line in lines)


def _rows(program: Program, random: JavaRandom) -> Iterator[_Row]:
    """Level by level: the children of each node in a drawn order."""
    ids = _ids(random)
    yield _Row(ROOT_ID, _NOTHING, "0", "ROOT")
    waiting: list[tuple[str, Sequence[Stmt]]] = [(ROOT_ID, program.body)]
    for parent, body in waiting:
        children = list(enumerate(body))
        random.shuffle(children)
        for order, stmt in children:
            node = next(ids)
            yield _row(node, parent, order, stmt)
            if isinstance(stmt, Scope):
                waiting.append((node, stmt.body))


def _row(node: str, parent: str, order: int, stmt: Stmt) -> _Row:
    match stmt:
        case Let(variable, value):
            return _Row(node, parent, str(order), "LET", variable=variable, value=str(value))
        case Nop(payload):
            return _Row(node, parent, str(order), "NOP", payload=payload)
        case Scope(kind, name, _):
            return _Row(node, parent, str(order), "SCOPE", kind=kind.value, name=name)


def _ids(random: JavaRandom) -> Iterator[str]:
    """Distinct ids of a letter and two digits, without ``r``, the root's."""
    used: set[str] = set()
    while True:
        node = f"{_ID_LETTERS[random.next_int(len(_ID_LETTERS))]}{random.next_int(90) + 10}"
        if node not in used:
            used.add(node)
            yield node


def parse_table(text: str) -> Program:
    """The program that a table describes, whatever the order of its rows below their parents.

    Raises:
        TableError: if the text is no table of one program.
    """
    lines = [tuple(line.split()) for line in text.splitlines() if line.strip()]
    if not lines or lines[0] != COLUMNS or any(len(line) != len(COLUMNS) for line in lines):
        raise TableError(f"expected the columns {' '.join(COLUMNS)} in every row")
    children: dict[str, list[_Row]] = {}
    for row in (_Row(*line) for line in lines[1:]):
        if row.parent != _NOTHING and row.parent not in children:
            raise TableError(f"node {row.node} stands before its parent {row.parent}")
        if row.node in children:
            raise TableError(f"node {row.node} stands twice")
        children[row.node] = []
        if row.parent != _NOTHING:
            children[row.parent].append(row)
    if ROOT_ID not in children:
        raise TableError(f"no root {ROOT_ID}")
    return Program(_body(ROOT_ID, children))


def _body(parent: str, children: dict[str, list[_Row]]) -> tuple[Stmt, ...]:
    rows = sorted(children[parent], key=lambda row: int(row.order))
    if [int(row.order) for row in rows] != list(range(len(rows))):
        raise TableError(f"the children of {parent} are not numbered 0 to {len(rows) - 1}")
    return tuple(_stmt(row, children) for row in rows)


def _stmt(row: _Row, children: dict[str, list[_Row]]) -> Stmt:
    match row.tag:
        case "LET":
            return Let(row.variable, int(row.value))
        case "NOP":
            return Nop(row.payload)
        case "SCOPE":
            return Scope(Kind(row.kind), row.name, _body(row.node, children))
    raise TableError(f"node {row.node}: unknown tag {row.tag}")

"""A family whose blocks are all of one kind: the same program in everything else, under the same id.

For the factor of section 12.3 of the specification: where kinds carry no information, names are all that tells blocks
apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.lang.ast import Program, Scope

if TYPE_CHECKING:
    from bench.data.family import Family
    from bench.lang.ast import Kind, Stmt


def with_one_kind(family: Family, kind: Kind) -> Family:
    """``family`` with every block a ``kind``; structure, names, values, cuts and seeds stay."""
    return replace(family, program=Program(_body(family.program.body, kind)))


def _body(body: tuple[Stmt, ...], kind: Kind) -> tuple[Stmt, ...]:
    """Recursive; families are at most 32 deep."""
    return tuple(Scope(kind, stmt.name, _body(stmt.body, kind)) if isinstance(stmt, Scope) else stmt for stmt in body)

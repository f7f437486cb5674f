"""The geometry of a family: what every drawn structure has, whatever the seed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.data.java_random import JavaRandom
from bench.data.structure import (
    class_of_preset,
    closures_at,
    draw_structure,
    lookup_kind_at,
    skeleton_class,
)

SEEDS = st.integers(-(1 << 63), (1 << 63) - 1)
KINDS = st.sampled_from(["inner", "outer"])


def structures():
    """Structures of every depth and kind."""
    return st.builds(
        lambda depth, kind, seed: draw_structure(depth, kind, JavaRandom(seed)), st.integers(2, 32), KINDS, SEEDS
    )


def path_scopes(structure):
    """The own statements of S0 to Sd, closed siblings included, read from the skeleton."""
    body = structure.skeleton[: len(structure.skeleton) - structure.closures]
    bare = re.sub(r"\([vo]*\)", "s", body)
    return bare.split("(")


@pytest.mark.parametrize(
    ("depth", "closures"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (8, 4), (9, 5), (16, 8), (32, 16)]
)
def test_the_number_of_focus_closes(depth, closures):
    """max(1, min(d-1, ceil(d/2)))."""
    assert closures == closures_at(depth)


def test_even_indices_are_inner_and_odd_ones_outer():
    """So exactly half of every cell is of each kind."""
    assert ["inner", "outer", "inner", "outer"] == [lookup_kind_at(index) for index in range(4)]


@given(structures())
def test_never_more_than_the_peak_depth_is_open_and_all_is_closed_at_the_end(structure):
    """The event string nests to the depth that was asked for, and no deeper."""
    depth = peak = 0
    for mark in structure.events:
        depth += (mark == "(") - (mark == ")")
        peak = max(peak, depth)
        assert depth >= 0
    assert (0, structure.depth) == (depth, peak)


@given(structures())
def test_the_focus_closes_stand_together_after_the_deepest_scope(structure):
    """d+1 path scopes, two closed siblings above the deepest one, then exactly c closes."""
    scopes = path_scopes(structure)
    assert structure.depth + 1 == len(scopes)
    assert ")" * structure.closures == structure.skeleton[-structure.closures :]
    hosts = [number for number, own in enumerate(scopes) for _ in range(own.count("s"))]
    assert sorted(structure.siblings) == hosts
    assert 2 == len(hosts)
    assert structure.depth not in hosts


@given(structures())
def test_the_bindings_that_decide_the_answers(structure):
    """S0, Sd and S(d-c+1) bind v; inner: S(d-c) does; outer: it does not, and nothing between it and the binder."""
    binds = ["v" in own for own in path_scopes(structure)]
    innermost = structure.depth - structure.closures
    assert (True, True, True) == (binds[0], binds[-1], binds[innermost + 1])
    assert (structure.lookup_kind == "inner") == binds[innermost]


@given(structures())
def test_each_scope_binds_each_variable_at_most_once_and_siblings_hold_a_decoy(structure):
    """At most one v and one o in each scope; every sibling binds v."""
    assert all(own.count("v") <= 1 and own.count("o") <= 1 for own in path_scopes(structure))
    body = structure.skeleton[: len(structure.skeleton) - structure.closures]
    siblings = re.findall(r"\(([vo]*)\)", body)
    assert all(sorted(decoys) in (["v"], ["o", "v"]) for decoys in siblings)


def test_at_depth_two_outer_means_global():
    """There is no scope between the innermost open one and the global one."""
    structures = [draw_structure(2, "outer", JavaRandom(seed)) for seed in range(200)]
    assert {False} == {"v" in path_scopes(structure)[1] for structure in structures}


def test_the_same_seed_draws_the_same_structure():
    """And another seed another one."""
    assert draw_structure(8, "outer", JavaRandom(3)) == draw_structure(8, "outer", JavaRandom(3))
    assert draw_structure(8, "outer", JavaRandom(3)) != draw_structure(8, "outer", JavaRandom(4))


def test_the_class_of_a_skeleton_is_its_first_hash_byte_modulo_four():
    """SHA-256 of ``v(v`` begins with 0xd3; the four classes are those of banks, pilot, other grids and main."""
    import hashlib

    assert hashlib.sha256(b"v(v").digest()[0] % 4 == skeleton_class("v(v")
    assert [1, 3, 2, 2] == [class_of_preset(name) for name in ("pilot", "main", "hard", "mine")]


@pytest.mark.parametrize("kind", ["inner", "outer"])
def test_depth_two_has_enough_structures_in_every_class(kind):
    """At d = 2 each class holds over 260 skeletons of each lookup kind; main needs 64."""
    random = JavaRandom(20261005)
    drawn = {draw_structure(2, kind, random).skeleton for _ in range(12_000)}
    counts = [sum(skeleton_class(skeleton) == number for skeleton in drawn) for number in range(4)]
    assert min(counts) > 260

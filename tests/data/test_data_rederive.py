"""A second derivation of families, written from docs/run-format.md alone: the document is enough to repeat a data set."""

import hashlib
import struct

import pytest

from bench.data.dataset import Cells, draw_families
from bench.data.family import family_to_json
from bench.data.java_random import JavaRandom

MASTER = 20261005


def random_for(namespace, index):
    name = namespace.encode()
    message = struct.pack(">q", MASTER) + struct.pack(">i", len(name)) + name + struct.pack(">q", index)
    return JavaRandom(struct.unpack(">q", hashlib.sha256(message).digest()[:8])[0])


def derive_skeleton(depth, outer, random):
    """Steps 1 to 4 of the document."""
    closes = max(1, min(depth - 1, -(-depth // 2)))
    inner = depth - closes
    binder = random.next_int(inner) if outer else inner
    binds = [None] * (depth + 1)
    for scope in (0, inner + 1, depth, binder):
        binds[scope] = True
    for scope in range(binder + 1, inner + 1):
        binds[scope] = False
    for scope in range(1, depth + 1):
        if binds[scope] is None:
            binds[scope] = random.next_int(2) == 0
    own = []
    for scope in range(depth + 1):
        other = random.next_int(2) == 0
        both = other and binds[scope]
        first = "vo" if not both or random.next_int(2) == 0 else "ov"
        own.append([mark for mark in first if (mark == "v" and binds[scope]) or (mark == "o" and other)])
    for _ in range(2):
        host = random.next_int(depth)
        decoys = "v"
        if random.next_int(2) == 0:
            decoys = "vo" if random.next_int(2) == 0 else "ov"
        own[host].insert(random.next_int(len(own[host]) + 1), "(" + decoys + ")")
    return "(".join("".join(statements) for statements in own) + ")" * closes, closes


def derive_names(prefix, count, random):
    names = []
    while len(names) < count:
        name = prefix + "".join(chr(97 + random.next_int(26)) for _ in range(8))
        if name not in names:
            names.append(name)
    return names


def derive_program(depth, filler, outer, cell, attempt):
    """The skeleton and the program's JSON for one attempt."""
    randoms = {
        purpose: random_for(f"pilot/{purpose}/reading/{cell}", attempt)
        for purpose in ("structure", "identifier", "value", "filler")
    }
    skeleton, closes = derive_skeleton(depth, outer, randoms["structure"])
    events = skeleton + ")" * (depth - closes)
    kinds = [("unit", "func", "area")[randoms["structure"].next_int(3)] for _ in range(events.count("("))]
    six = ["x_a", "x_b", "x_c", "x_d", "x_e", "x_f"]
    variable = six.pop(randoms["identifier"].next_int(6))
    others = [six[randoms["identifier"].next_int(5)] for _ in range(events.count("o"))]
    names = derive_names("n_", len(kinds), randoms["identifier"])
    probe = derive_names("q_", 1, randoms["identifier"])[0]
    values = []
    while len(values) < events.count("v") + events.count("o"):
        value = 1000 + randoms["value"].next_int(9000)
        values += [value] if value not in values else []
    nops = [["nop", name] for name in derive_names("p_", filler, randoms["filler"])]
    bodies = [[]]
    for position, mark in enumerate(events):
        if position == len(skeleton) - closes:
            bodies[-1] += nops
        if mark == "(":
            block = [kinds.pop(0), names.pop(0), []]
            bodies[-1].append(block)
            bodies.append(block[2])
        elif mark == ")":
            bodies.pop()
        else:
            bodies[-1].append(["let", variable if mark == "v" else others.pop(0), values.pop(0)])
    return skeleton, probe, bodies[0]


@pytest.mark.parametrize("filler", [0, 3])
def test_the_document_gives_the_same_families(filler):
    """Twelve families of each filler: attempts, skeletons, probes and whole programs."""
    families = [family for family, _ in draw_families(Cells("pilot", "reading", [2, 4, 8], [filler], 4), MASTER)]
    taken = set()
    derived = []
    for depth in (2, 4, 8):
        for index in range(4):
            for attempt in range(10_000):
                skeleton, probe, program = derive_program(
                    depth, filler, index % 2 == 1, f"{depth}-{filler}-{index}", attempt
                )
                if hashlib.sha256(skeleton.encode()).digest()[0] % 4 == 1 and skeleton not in taken:
                    break
            taken.add(skeleton)
            derived.append((attempt, skeleton, probe, program))
    rows = [family_to_json(family) for family in families]
    assert [(row["attempt"], row["skeleton"], row["probe_id"], row["program"]) for row in rows] == derived

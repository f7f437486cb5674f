"""The character patterns of names and values (specification, section 3.3), and the depth no text may exceed.

Patterns only; each is of fixed length, so matching one against a very long word costs nothing.
"""

from __future__ import annotations

import re

BLOCK_NAME = re.compile(r"n_[a-z]{8}")
VARIABLE = re.compile(r"x_[a-f]")
NOP_ID = re.compile(r"p_[a-z]{8}")
PROBE_ID = re.compile(r"q_[a-z]{8}")
VALUE = re.compile(r"[1-9][0-9]{3}")

VARIABLES = ("x_a", "x_b", "x_c", "x_d", "x_e", "x_f")
MIN_VALUE = 1000
MAX_VALUE = 9999

MAX_DEPTH = 60
"""Deepest nesting that parser and JSON form accept.

Grids go to 32. A tree of 60 takes 121 levels of JSON, inside the strict decoder's 128, and no recursive reader of a
parsed tree can exhaust the interpreter's stack, whatever a model wrote.
"""

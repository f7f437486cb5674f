"""Hand-made programs: counted from their text, refused by name."""

import pytest

from bench.data.hand_made import HandMadeError, hand_made_family
from bench.lang.reference_oracle import observe
from bench.plan.config import load_preset

SPEC_EXAMPLE = [
    "let x_a 1048",
    "unit n_qazwsxed",
    "  let x_a 7321",
    "  func n_plmoknij",
    "    let x_a 5916",
    "    area n_uhbygvtf",
    "      let x_a 8604",
    "      nop p_abcdefgh",
    "    end area n_uhbygvtf",
    "    probe q_zxcvbnma x_a",
    "  end func n_plmoknij",
    "end unit n_qazwsxed",
]


def test_depth_filler_closes_and_kind_are_counted_from_the_text():
    """The specification's own example of 4.1."""
    family = hand_made_family("smoke", 0, SPEC_EXAMPLE, 1)
    assert (3, 1, 1, "inner") == (family.depth, family.filler, family.closures, family.lookup_kind)
    assert "v(v(v(v)" == family.skeleton
    assert 5916 == observe(family.program, family.after_cut).value
    assert 8604 == observe(family.program, family.before_cut).value


@pytest.mark.parametrize("index", range(4))
def test_the_smoke_answers_written_by_hand_are_what_the_oracle_sees(index):
    """Value and stack of each of the four cases."""
    made = load_preset("smoke").hand_made[index]
    family = hand_made_family("smoke", index, made.program, 1)
    seen = observe(family.program, family.after_cut)
    assert (made.value, made.stack) == (seen.value, list(seen.active_scopes))


def test_the_smoke_cases_hold_what_the_specification_asks_for():
    """Outer lookup, shadowing, several closes, closed siblings."""
    made = load_preset("smoke").hand_made
    families = [hand_made_family("smoke", index, case.program, 1) for index, case in enumerate(made)]
    assert ["outer", "inner", "outer", "inner"] == [family.lookup_kind for family in families]
    assert [1, 1, 3, 2] == [family.closures for family in families]
    assert 4 == len({family.skeleton for family in families})


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["let x_a 1048", "unit n_qazwsxed"], "expected one probe line, got 0"),
        ([*SPEC_EXAMPLE, "probe q_zxcvbnma x_a"], "expected one probe line, got 2"),
        (SPEC_EXAMPLE[:-1], "unclosed_scope"),
        ([line.replace("end area n_uhbygvtf", "end area n_plmoknij") for line in SPEC_EXAMPLE], "close_name_mismatch"),
    ],
)
def test_a_text_that_is_no_program_is_refused_by_name(lines, message):
    """The family and the first defect."""
    with pytest.raises(HandMadeError, match=f"smoke-s3: .*{message}"):
        hand_made_family("smoke", 3, lines, 1)

"""Programs written by hand, with what holds in them; the tests of the language share them."""

from bench.lang.ast import CutPoint, Kind, Let, Nop, Observation, Program, Scope

# specification, section 4.1
SPEC_PROGRAM = Program(
    (
        Let("x_a", 1048),
        Scope(
            Kind.UNIT,
            "n_qazwsxed",
            (
                Let("x_a", 7321),
                Scope(
                    Kind.FUNC,
                    "n_plmoknij",
                    (
                        Let("x_a", 5916),
                        Scope(Kind.AREA, "n_uhbygvtf", (Let("x_a", 8604), Nop("p_abcdefgh"))),
                    ),
                ),
            ),
        ),
    )
)
AFTER_CLOSE = CutPoint(9, "q_zxcvbnma", "x_a")
BEFORE_CLOSE = CutPoint(8, "q_zxcvbnma", "x_a")

SPEC_PREFIX_NAMED_END = """\
let x_a 1048
unit n_qazwsxed
  let x_a 7321
  func n_plmoknij
    let x_a 5916
    area n_uhbygvtf
      let x_a 8604
      nop p_abcdefgh
    end area n_uhbygvtf
    probe q_zxcvbnma x_a
"""

# all kinds, shadowing, two closed siblings, an empty block, a run of two closes, statements behind blocks
GOLDEN_PROGRAM = Program(
    (
        Let("x_b", 2417),
        Scope(Kind.FUNC, "n_closeone", (Let("x_b", 9151), Let("x_f", 3306))),
        Scope(
            Kind.UNIT,
            "n_outerone",
            (
                Nop("p_firstone"),
                Let("x_b", 6802),
                Scope(Kind.AREA, "n_closetwo", (Let("x_b", 4490),)),
                Scope(
                    Kind.AREA,
                    "n_midscope",
                    (
                        Let("x_b", 1025),
                        Scope(Kind.FUNC, "n_deepests", (Let("x_b", 7777), Nop("p_fillings"), Nop("p_fillmore"))),
                    ),
                ),
                Let("x_c", 5038),
            ),
        ),
        Scope(Kind.UNIT, "n_emptyone", ()),
        Let("x_c", 8129),
    )
)
GOLDEN_CUT = CutPoint(19, "q_lookhere", "x_b")
GOLDEN_SEEN = Observation(6802, ("n_outerone",))

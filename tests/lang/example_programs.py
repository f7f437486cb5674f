"""Programs written by hand, with what holds in them; the tests of the language share them."""

from bench.lang.ast import CutPoint, Kind, Let, Nop, Program, Scope

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

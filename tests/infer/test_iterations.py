"""Inference through Loop and If: iterations walked one by one, elements equal in both branches."""

from __future__ import annotations

import pytest

import sardonyx as sx
from models import parse_function, parse_model, parse_record
from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import graphs, values


def infer_types(model: Model) -> dict[str, str]:
    sx.infer(model)
    return {v.name: str(v.type) for g in graphs(model.graph) for v in values(g)}


def y(text: str) -> str:
    return infer_types(parse_model(text, opset=21))["y"]


# --- carried values --------------------------------------------------------------------------

DOUBLED = """g (float[N,2] x) => (float[] y) <int64 count = {COUNT}, bool go = {1}, int64[2] start = {1, 3}> {
  shape = Loop(count, go, start) <body = b (int64 i, bool c, int64[2] s) => (bool d, int64[2] t) {
    d = Identity(c)  t = Add(s, s)
  }>
  y = ConstantOfShape(shape)
}"""


@pytest.mark.parametrize(
    ("count", "expected"), [(0, "float[1,3]"), (1, "float[2,6]"), (3, "float[8,24]"), (-2, "float[1,3]")]
)
def test_carried_elements_are_known_after_a_known_count_of_iterations(count: int, expected: str) -> None:
    assert y(DOUBLED.replace("COUNT", str(count))) == expected


def test_carried_elements_may_be_expressions() -> None:
    assert (
        y("""g (float[N,2] x) => (float[] y) <int64 count = {3}, bool go = {1}> {
          s0 = Shape(x)
          shape = Loop(count, go, s0) <body = b (int64 i, bool c, int64[2] s) => (bool d, int64[2] t) {
            d = Identity(c)  t = Add(s, s)
          }>
          y = ConstantOfShape(shape)
        }""")
        == "float[8*N,16]"
    )


def test_a_carried_value_that_grows_has_its_exact_size() -> None:
    types = infer_types(
        parse_model(
            """g (float[N] x) => (float[] y) <int64 count = {3}, bool go = {1}> {
              y = Loop(count, go, x) <body = b (int64 i, bool c, float[] s) => (bool d, float[] t) {
                d = Identity(c)  t = Concat<axis = 0>(s, x)
              }>
            }""",
            opset=21,
        )
    )
    assert types["y"] == "float[4*N]"
    assert types["s"] == "float[?]"  # what holds in every iteration


def test_the_number_of_the_iteration_is_known() -> None:
    assert (
        y("""g (float[N] x) => (float[] y) <int64 count = {4}, bool go = {1}, int64 zero = {0}, int64[1] at = {0}> {
          sum = Loop(count, go, zero) <body = b (int64 i, bool c, int64 s) => (bool d, int64 t) {
            d = Identity(c)  t = Add(s, i)
          }>
          shape = Unsqueeze(sum, at)
          y = ConstantOfShape(shape)
        }""")
        == "float[6]"
    )


def test_a_condition_that_is_computed_ends_the_loop() -> None:
    types = infer_types(
        parse_model(
            """g (float[N] x) => (float[] y) <bool go = {1}, int64 one = {1}, int64 most = {20}> {
              last, all = Loop(, go, one) <body = b (int64 i, bool c, int64 s) => (bool d, int64 t, int64 e) {
                t = Add(s, s)  d = Less(t, most)  e = Identity(s)
              }>
              y = ConstantOfShape(all)
            }""",
            opset=21,
        )
    )
    assert types["all"] == "int64[5]"
    assert types["y"] == "float[1,2,4,8,16]"


def test_scan_outputs_are_stacked_with_what_is_known_of_them() -> None:
    assert (
        y("""g (float[N] x) => (float[] y) <int64 count = {2}, bool go = {1}, int64[1] two = {2}> {
          s0 = Shape(x)
          last, rows = Loop(count, go, s0) <body = b (int64 i, bool c, int64[1] s) => (bool d, int64[1] t, int64[1] e) {
            d = Identity(c)  t = Mul(s, two)  e = Identity(s)
          }>
          flat = Reshape(rows, two)
          y = ConstantOfShape(flat)
        }""")
        == "float[N,2*N]"
    )


SUMS = """g (float[N,2] x) => (float[] y) <int64 zero = {0}, int64[3] steps = {1, 2, 4}> {
  last, sums = Scan<num_scan_inputs = 1ATTRIBUTES,
    body = b (int64 s, int64 n) => (int64 t, int64 e) { t = Add(s, n)  e = Identity(t) }>(zero, steps)
  y = ConstantOfShape(sums)
}"""


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("", "float[1,3,7]"),
        (", scan_input_directions = [1]", "float[4,6,7]"),
        (", scan_output_directions = [1]", "float[7,3,1]"),
    ],
)
def test_elements_of_a_scan_over_known_numbers_are_known(attributes: str, expected: str) -> None:
    assert y(SUMS.replace("ATTRIBUTES", attributes)) == expected


def test_a_scan_goes_along_any_axis() -> None:
    assert (
        y("""g (float[N] x) => (float[] y) <int64[2] zero = {0, 0}, int64[2,3] steps = {1, 2, 3, 4, 5, 6}, int64[1] all = {-1}> {
          last, sums = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [-1],
            body = b (int64[2] s, int64[2] n) => (int64[2] t, int64[2] e) { t = Add(s, n)  e = Identity(t) }>(zero, steps)
          flat = Reshape(sums, all)
          y = ConstantOfShape(flat)
        }""")
        == "float[1,3,6,4,9,15]"
    )


def test_a_scan_over_an_expression_knows_what_does_not_hang_on_it() -> None:
    assert (
        y("""g (float[N,5] x) => (float[] y) <int64 zero = {0}> {
          s = Shape(x)
          last, sums = Scan<num_scan_inputs = 1,
            body = b (int64 s, int64 n) => (int64 t, int64 e) { t = Add(s, n)  e = Identity(n) }>(zero, s)
          y = ConstantOfShape(sums)
        }""")
        == "float[N,5]"
    )


def test_elements_of_unknown_iterations_are_not_known() -> None:
    text = DOUBLED.replace("COUNT", "65")
    assert y(text) == "float[?,?]"
    open_condition = (
        DOUBLED.replace("COUNT", "3").replace("float[N,2] x", "bool go").replace("bool go = {1}, ", "")
    )
    assert y(open_condition) == "float[?,?]"


def test_nested_loops_are_unrolled_within_bounds() -> None:
    def nested(depth: int) -> str:
        inner = nested(depth - 1) if depth else "r0 = Add(s, s)"
        d = depth
        return f"""r{d + 1} = Loop(count, go, s) <body = b{d} (int64 i{d}, bool c{d}, int64 s{d}) => (bool d{d}, int64 t{d}) {{
          d{d} = Identity(c{d})  {inner}  t{d} = Add(s{d}, r{d})
        }}>"""

    text = f"""g (int64 s) => (int64 y) <int64 count = {{60}}, bool go = {{1}}> {{ {nested(6)}  y = Identity(r7) }}"""
    assert y(text) == "int64[]"


def test_an_error_in_one_iteration_falls_back_to_types_of_all_iterations() -> None:
    """The body declares that its input has size 2, which is false from the second iteration on."""
    model = parse_model(
        """g (float[2] x) => (float[] y) <int64 count = {3}, bool go = {1}> {
          y = Loop(count, go, x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[] t) {
            d = Identity(c)  t = Concat<axis = 0>(s, s)
          }>
        }""",
        opset=21,
    )
    assert infer_partially(model)
    assert str(model.graph.outputs[0].type) == "float[4]"


# --- branches --------------------------------------------------------------------------------


def test_elements_on_which_both_branches_agree_are_known() -> None:
    types = infer_types(
        parse_model(
            """g (bool c, float[N] x) => (float[] y) {
              s = Shape(x)
              t = If(c) <
                then_branch = t () => (int64[] p) <int64[2] more = {3, 4}> { p = Concat<axis = 0>(s, more) },
                else_branch = e () => (int64[] q) <int64[2] rest = {3, 5}> { q = Concat<axis = 0>(s, rest) }
              >
              y = ConstantOfShape(t)
            }""",
            opset=21,
        )
    )
    assert types["y"] == "float[N,3,?]"


def test_a_branch_that_is_not_taken_is_typed_and_may_be_wrong() -> None:
    types = infer_types(
        parse_model(
            """g (float[2] x, float[3] z) => (float[] y) <bool c = {1}> {
              y = If(c) <
                then_branch = t () => (float[] p) { p = Neg(x) },
                else_branch = e () => (float[] q) { a = Concat<axis = 0>(x, z)  q = Add(x, z) }
              >
            }""",
            opset=21,
        )
    )
    assert (types["y"], types["a"], types["q"]) == ("float[2]", "float[5]", "float[...]")


def test_calls_in_a_branch_that_is_not_taken_do_not_blur_a_function() -> None:
    record = parse_record(
        """g (float[2] x, float[3] z) => (float[] y) <bool c = {1}> {
          a = l.f(x)
          y = If(c) <then_branch = t () => (float[] p) { p = Neg(a) }, else_branch = e () => (float[] q) { q = l.f(z) }>
        }""",
        more='"l": 1',
    )
    record.functions = [parse_function('<domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Neg(a) }')]
    model = sx.infer(sx.load(record))
    (body,) = (f.body for f in model.functions.values())
    assert str(body.outputs[0].type) == "float[2]"

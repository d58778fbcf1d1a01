"""Parameters of functions that calls omit: absent values, which are not there wherever they are given, in both engines alike."""

from typing import Literal, TypeAlias

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.io.serde import to_proto
from sardonyx.errors import InferenceError, InvalidModel

Engine: TypeAlias = Literal["reference", "native"]
ENGINES: tuple[Engine, ...] = ("reference", "native")
X = np.array([1, 2], np.float32)


def model(body: str, *, main: str = "t = l.F(x)  y = Neg(t)", more: str = "") -> sx.ir.Model:
    return sx.from_text(f"""<ir_version: 10, opset_import: ["" : 21, "l" : 1]> g (float[2] x) => (float[?] y) {{ {main} }}
    <domain: "l", opset_import: ["" : 21, "l" : 1]> F (a, u) => (r) {{ {body} }} {more}""")


RETURNS_ITS_INPUT = '<domain: "l", opset_import: ["" : 21]> P (a, u) => (r, u) { r = Neg(a) }'
REQUIRED = {
    "a required input": "r = Add(a, u)",
    "an operand of a variadic operator": "r = Max(a, u)",
    "an operand amid others": "r = Concat<axis = 0>(a, u, a)",
    "Identity": "v = Identity(u)  r = Clip(a, v)",
    "a node that nothing uses": "r = Identity(a)  z = Neg(u)",
    "an output of an inner call": "z, v = l.P(a, u)  r = Add(a, v)",
    "an inner call without it": "z, v = l.P(a)  r = Add(a, v)",
    "an inner call that requires it": "r = l.R(a, u)",
}
MORE = RETURNS_ITS_INPUT + '<domain: "l", opset_import: ["" : 21]> R (a, u) => (r) { r = Sub(a, u) }'


@pytest.mark.parametrize("body", REQUIRED.values(), ids=REQUIRED)
def test_what_requires_an_absent_value_is_refused_everywhere(body: str) -> None:
    wrong = model(body, more=MORE)
    for engine in ENGINES:
        with pytest.raises(InvalidModel, match="must be given; it is absent"):
            sx.Session(wrong, engine=engine)
    with pytest.raises(InvalidModel, match="must be given; it is absent"):
        sx.tools.inline(wrong)
    assert [d.rule for d in sx.check(to_proto.model(wrong)).diagnostics if d.severity == "error"] == ["SX715"]
    with pytest.raises(InferenceError, match="must be given; it is absent"):
        sx.infer(wrong)


def test_an_absent_output_of_the_model_is_refused() -> None:
    wrong = model("r = Neg(a)", main="t, y = l.P(x)", more=MORE)
    for engine in ENGINES:
        with pytest.raises(InvalidModel, match="output 'y' of the graph must be given"):
            sx.Session(wrong, engine=engine)
    assert [d.rule for d in sx.check(to_proto.model(wrong)).diagnostics] == ["SX715"]


@pytest.mark.parametrize("operands", ['x, ""', 'x, "", x', '"", x'])
def test_an_omitted_operand_of_a_variadic_operator_is_refused(operands: str) -> None:
    wrong = sx.from_text(
        f'<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) {{ y = Max({operands}) }}'
    )
    for engine in ENGINES:
        with pytest.raises(InvalidModel, match="one of 'data_0' of Max-13, must be given"):
            sx.Session(wrong, engine=engine)
    assert not sx.check(to_proto.model(wrong)).ok


GUARDED = """h = OptionalHasElement(u)
  r = If(h) <then_branch = t () => (q) { q = Add(a, u) }, else_branch = e () => (w) { w = Neg(a) }>"""
ALLOWED = {
    "an optional input": ("r = Clip(a, u)", "t = l.F(x)  y = Neg(t)", [-1, -2]),
    "an output that is the input": ("r = Neg(a)", "t, q = l.P(x)  y = Clip(t, q)", [-1, -2]),
    "an input of a function": ("z, v = l.P(a, u)  r = Clip(z, v)", "t = l.F(x)  y = Neg(t)", [1, 2]),
    "a branch that is not taken": (GUARDED, "t = l.F(x)  y = Neg(t)", [1, 2]),
    "a branch that is taken": (GUARDED, "t = l.F(x, x)  y = Neg(t)", [-2, -4]),
}


@pytest.mark.parametrize(("body", "main", "expected"), ALLOWED.values(), ids=ALLOWED)
def test_an_absent_value_is_omitted_wherever_that_is_allowed(
    body: str, main: str, expected: list[int]
) -> None:
    right = model(body, main=main, more=MORE)
    variants = [right, sx.tools.inline(right), sx.optimize(right), sx.convert(right, opset=22)]
    for variant in variants:
        assert sx.check(to_proto.model(variant)).ok
        for engine in ENGINES:
            assert sx.Session(variant, engine=engine).run({"x": X})["y"].tolist() == expected
    sx.infer(right)


def test_a_call_stays_whose_omitted_input_a_branch_requires() -> None:
    inlined = sx.tools.inline(model(GUARDED))
    assert [f.label for f in inlined.functions.values()] == ["l.F"]
    assert [note.message for note in inlined.notes] == [
        "the call of l.F stays: it omits input 1 'u', which l.F.node[1] (If).then_branch.node[0] (Add) requires if it runs"
    ]


def test_a_call_stays_whose_omitted_input_is_an_output_of_a_function_that_stays() -> None:
    functions = """<domain: "l", opset_import: ["" : 21, "l" : 1]> F (a, u) => (r, v) { r, v = l.P(a) }"""
    kept = sx.from_text(f"""<ir_version: 10, opset_import: ["" : 21, "l" : 1]> g (float[2] x) => (float[2] y) {{
      t, q = l.F(x)  y = Clip(t, q) }} {functions} {RETURNS_ITS_INPUT}""")
    inlined = sx.tools.inline(kept, ["l.P"])
    assert {f.label for f in inlined.functions.values()} == {"l.F", "l.P"}
    for variant in (kept, inlined, sx.tools.inline(kept)):
        for engine in ENGINES:
            assert sx.Session(variant, engine=engine).run({"x": X})["y"].tolist() == [-1, -2]

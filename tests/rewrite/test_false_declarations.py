"""Sizes that a file declares without truth: neither passes nor the native engine compute with them."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.errors import ConversionError
from sardonyx._src.ir.walk import nodes
from sardonyx._src.runtime.session.session import Engine

F = np.float32
X = np.arange(12, dtype=F).reshape(2, 6)
LOOP = """g (float[N] x, int64 n, bool c) => (int64[K,1] s) { y, s = Loop(n, c, x) <
    body = b (int64 i, bool k, float[3] v) => (bool l, float[3] w, int64[1] t) { l = Identity(k)  w = Add(v, v)  t = Shape(v) }
>}"""
SCAN = """g (float[T,N] x, float[N] v) => (int64[K,1] s) { y, s = Scan <
    num_scan_inputs = 1, body = b (float[3] a, float[3] e) => (float[3] c, int64[1] t) { c = Add(a, e)  t = Shape(e) }> (v, x)
}"""
OUTPUT = "g (float[N] x) => (float[3] y, int64[1] s) { y = Neg(x)  s = Shape(y) }"
INNER = "g (float[N] x) => (int64[1] s) <float[3] h> { h = Neg(x)  s = Shape(h) }"
ELEMENT = """g (seq(float[3]) x) => (int64[1] s) { i = Constant<value_int = 1>()  e = SequenceAt(x, i)  s = Shape(e) }"""
FUNCTION = """g (float[N] x) => (int64[1] s) { s = l.f(x) }
    <domain: "l", opset_import: ["": 21]> f (a) => (b) <float[3] a, float[3] h> { h = Neg(a)  b = Shape(h) }"""
CASES = {
    "loop": (LOOP, {"x": X[1], "n": np.array(2), "c": np.array(True)}, [[6], [6]]),
    "scan": (SCAN, {"x": X, "v": X[1]}, [[6], [6]]),
    "output": (OUTPUT, {"x": X[1]}, [6]),
    "inner": (INNER, {"x": X[1]}, [6]),
    "element": (ELEMENT, {"x": [X[0, :3], X[1]]}, [6]),
    "function": (FUNCTION, {"x": X[1]}, [6]),
}


@pytest.mark.filterwarnings("ignore::sardonyx.errors.ShapeWarning")
@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("optimized", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_a_false_declaration_does_not_change_results(case: str, optimized: bool, engine: Engine) -> None:
    text, feeds, sizes = CASES[case]
    model = parse_model(text, more='"l": 1')
    result = sx.Session(sx.optimize(model) if optimized else model, engine=engine).run(feeds)["s"]
    assert isinstance(result, np.ndarray)
    assert result.tolist() == sizes


SLICE = "z = Constant<value = int64[1] {0}>()  s = Shape(h)  y = Slice(h, z, s)"
STALE_ENDS = [
    f"""g (int64 n, bool c, float[N] x) => (float[M] r) {{ r = Loop (n, c, x) <
        body = b (int64 i, bool k, float[3] h) => (bool l, float[W] y) {{ l = Identity(k)  {SLICE} }}> }}""",
    f"g (float[N] x) => (float[M] y) <float[5] h> {{ h = Concat<axis = 0>(x, x)  {SLICE} }}",
    f"g (float[N] x) => (float[M] y, float[5] h) {{ h = Concat<axis = 0>(x, x)  {SLICE} }}",
    f"g (float[N] x) => (float[M] y) <float[2] h> {{ h = com.x.Foo(x)  {SLICE} }}",
]


@pytest.mark.parametrize("text", STALE_ENDS)
def test_conversion_computes_no_attribute_from_declared_sizes(text: str) -> None:
    model = parse_model(text, opset=11, more='"com.x": 1')
    with pytest.raises(ConversionError, match=r"ends \('s'\) must be constant"):
        sx.convert(model, 9)
    assert sx.to_text(sx.convert(model, 13)).split("\n", 1)[1] == sx.to_text(model).split("\n", 1)[1]


def test_optimization_does_not_compute_with_declared_sizes_of_unknown_operators() -> None:
    text = "g (float[N] x) => (int64[1] s) <float[2] h> { h = com.x.Foo(x)  s = Shape(h) }"
    optimized = sx.optimize(parse_model(text, more='"com.x": 1'))
    assert [node.op_type for node in nodes(optimized.graph)] == ["Foo", "Shape"]

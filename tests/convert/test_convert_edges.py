"""Edge cases of single steps: empty dims, narrow types, out-of-range counts, inconsistent nodes."""

from __future__ import annotations

import numpy as np
import pytest

from models import only, parse_model
from sardonyx._src.convert.conversion import convert
from sardonyx._src.errors import ConversionError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array

F32, F16 = np.float32, np.float16

EQUAL: list[tuple[str, int, int, Array]] = [
    # A depth that the type of the indices cannot hold.
    ("(int8[4] x) => (float[4,200] y) <int64[1] d = {200}, float[2] v = {0, 1}> { y = OneHot(x, d, v) }", 9, 11,
     np.array([-1, 0, 5, -56], np.int8)),
    ("(float16[2] x) => (float[2,2049] y) <int64[1] d = {2049}, float[2] v = {0, 1}> { y = OneHot(x, d, v) }", 9, 11,
     np.array([-1, 2048], F16)),
    # An empty tensor: Reshape would interpret each 0 as a size to copy.
    ("(float[4,1,0] x) => (float[4,1,0] y) { y = Hardmax(x) }", 11, 13, np.zeros((4, 1, 0), F32)),
    ("(int64[0] x) => (int64[1,0] y) <int64[2] s = {1, 1}> { y = Expand(x, s) }", 8, 6, np.zeros(0, np.int64)),
    # Ranks known only from the data.
    ("(float[] x) => (float[] y) { y = Softmax<axis = 1>(x) }", 1, 13, np.array([[[1, 2], [3, 5]]], F32)),
    ("(float[] x) => (float[] y) { y = LogSoftmax<axis = 1>(x) }", 8, 11, np.array([1, 2], F32)),
    ("(int8[2] x, float[1] s, int64[N] n) => (float[2] y) { t = Reshape(s, n)  y = DequantizeLinear(x, t) }", 10, 9,
     np.array([1, -2], np.int8)),
    # Data and scale of different types, which 19 and 21 do not allow.
    ("(int32[3] x) => (uint8[3] y) <float s = {0.5}, uint8 z = {3}> { y = QuantizeLinear(x, s, z) }", 13, 21,
     np.array([7, -9, 2**25 + 1], np.int32)),
    ("(float16[3] x) => (uint8[3] y) <float s = {0.3}, uint8 z = {3}> { y = QuantizeLinear(x, s, z) }", 23, 10,
     np.array([7, -9, 2.5], F16)),
    ("(float[3] x) => (uint8[3] y) <float16 s = {14546}> { y = QuantizeLinear<precision = 10>(x, s) }", 23, 19,
     np.array([7, 9, 2.5], F32)),
    # An axis that counts from the back of the result.
    (("(int64[2,3] x) => (float[2,4,3] y) <int64[1] d = {4}, float[2] v = {0, 1}>"
     " { c = Constant<value = int64[2,3] {0, 1, 2, 3, 0, 1}>()  y = OneHot<axis = -2>(c, d, v) }"), 11, 9,
     np.zeros((2, 3), np.int64)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "opset", "target", "x"), EQUAL)
def test_results_are_equal(text: str, opset: int, target: int, x: Array) -> None:
    original = parse_model(f"g {text}", opset=opset)
    feeds = {"x": x, "s": np.array([2], F32), "n": np.array([1])}
    inputs = {v.name: feeds[v.name] for v in original.graph.inputs}
    (expected,) = Interpreter(original).run(inputs).values()
    (result,) = Interpreter(convert(original, target)).run(inputs).values()
    np.testing.assert_allclose(np.asarray(result), np.asarray(expected), 1e-6, strict=True)


@pytest.mark.parametrize(
    ("text", "opset", "target", "why"),
    [
        ("(float16[1] x) => (float16[N] y) <int64[1] n = {2049}> { y = Tile(x, n) }", 6, 5, "representable as float16 for Tile-1; got 2049"),
        ("(float[2,3] x) => (float[N,M] y) <int64[2] s = {4, 5}> { y = Expand(x, s) }", 8, 7, "cannot be broadcast to one"),
        ("(float[2,3,4] x) => (float[2,3] y) { y = EyeLike(x) }", 9, 8, "must be a matrix; got rank 3"),
        ("(float[2,3] x) => (float[2,3] y) { y = EyeLike<dtype = 99>(x) }", 9, 8, "got 99"),
        ("(float[2,3] x) => (float[N,M] y) { y = Split<num_outputs = 1000000000>(x) }", 18, 13, "num_outputs must be the number of outputs, 1; got 1000000000"),
        ("(float[2,3] x) => (float[N,M] y) <int64[2] p = {1, 1}, int64[1] a = {7}> { y = Pad(x, p, , a) }", 18, 13,
         "axis 7 lies outside of rank 2"),
        ("(double[2] x) => (double[4] y) <int64[2] p = {1, 1}, double v = {1e300}> { y = Pad(x, p, v) }", 11, 10,
         "must fit an attribute of type FLOAT"),
        (("(float[2] x) => (float[2] y) {"
         " y = Scan<num_scan_inputs = 0, body = b (float[2] a) => (float[2] c) { c = Relu(a) }>(x) }"), 9, 8,
         "num_scan_inputs must"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(text: str, opset: int, target: int, why: str) -> None:
    with pytest.raises(ConversionError, match=why):
        convert(parse_model(f"g {text}", opset=opset), target)


def test_axes_of_scan_count_from_the_front_before_11() -> None:
    text = """g (float[2,3,4] x) => (float[2,4,3] y) {
      y = Scan<num_scan_inputs = 1, scan_input_axes = [-2], scan_output_axes = [-1],
               body = b (float[2,4] a) => (float[2,4] r) { r = Neg(a) }>(x)
    }"""
    converted = convert(parse_model(text, opset=11), 10)
    scan = only(converted.graph, "Scan")
    assert scan.attributes["scan_input_axes"].value == (1,)
    assert scan.attributes["scan_output_axes"].value == (2,)


def test_no_constant_is_made_without_uses() -> None:
    text = "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1, 1, 2, 2}> { y = Resize(x, s) }"
    converted = convert(parse_model(text, opset=10), 11)
    assert [node.op_type for node in converted.graph.nodes] == ["Constant", "Resize"]

"""Nodes outlined in their own version keep their meaning."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.convert.partial_conversion import convert_partially
from sardonyx._src.errors import ConversionError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Model
from sardonyx._src.ir.verify import verify

X = np.array([[3, 4]], np.float32)
SEQUENCES = """g (float[1,2] x, bool c) => (float[N,M] y) {
  s = If (c) <then_branch = t () => (seq(float[1,2]) a) { z = Softmax<axis = 1>(x)  a = SequenceConstruct(z) },
              else_branch = e () => (seq(float[1,2]) b) { b = SequenceConstruct(x) }>
  i = Constant<value = int64 {0}>()
  y = SequenceAt(s, i)
}"""


def convert_listing_errors(original: Model, target: int) -> tuple[Model, tuple[ConversionError, ...]]:
    """Converts as much of the model as possible, asserts that the result is well formed, and returns it with the errors."""
    before = {d.rule for d in sx.check(original).of("error")}
    conversion = convert_partially(original, target)
    result = conversion.model
    verify(result)
    assert [str(d) for d in sx.check(result).of("error") if d.rule not in before] == []
    return result, conversion.errors


@pytest.mark.parametrize("c", [True, False])
def test_what_subgraphs_read_of_graphs_around_becomes_an_input(c: bool) -> None:
    original = parse_model(SEQUENCES, opset=13)
    result, errors = convert_listing_errors(original, 10)
    assert [e.op_type for e in errors] == ["If", "SequenceAt"]
    feeds = {"x": X, "c": np.array(c)}
    (actual,), (expected,) = (Interpreter(m).run(feeds).values() for m in (result, original))
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))


def test_the_inside_of_what_stays_is_neither_converted_nor_listed() -> None:
    text = """g (bfloat16[1,2] x, bool c) => (bfloat16[2] y) {
      y = If (c) <then_branch = t () => (bfloat16[2] a) { a = my.f(x) },
                  else_branch = e () => (bfloat16[2] b) { n = Constant<value = int64[1] {0}>()  b = Squeeze(x, n) }>
    }
    <opset_import: ["": 16], domain: "my"> f (p) => (q) { n = Constant<value = int64[1] {0}>()  q = Squeeze(p, n) }"""
    result, errors = convert_listing_errors(parse_model(text, opset=16, more='"my": 1'), 15)
    assert [e.op_type for e in errors] == ["If"]
    (function,) = (f for f in result.functions.values() if f.domain == "sardonyx.kept")
    assert function.opset_imports == {"": 16, "my": 1}


def test_a_parameter_of_the_function_around_remains_a_parameter() -> None:
    text = """g (float[1,2] x) => (float[1,2] y, float[1,2] z) { y = my.f<axis = 1>(x)  z = my.f(x) }
    <opset_import: ["": 12], domain: "my"> f <axis> (p) => (q) { q = Softmax<axis: int = @axis>(p) }"""
    original = parse_model(text, opset=12, more='"my": 1')
    result, errors = convert_listing_errors(original, 13)
    assert [e.op_type for e in errors] == ["Softmax"]
    assert result.functions["my", "f", ""].opset_imports == {"": 13, "sardonyx.kept": 1}
    for actual, expected in zip(
        *(Interpreter(m).run({"x": X}).values() for m in (result, original)), strict=True
    ):
        np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))


def test_what_stayed_may_stay_again() -> None:
    text = "g (bfloat16[2] x) => (bfloat16[2] y, bfloat16[2] z) { y = Identity(x)  z = Identity(y) }"
    once, _ = convert_listing_errors(parse_model(text, opset=14), 12)
    twice, errors = convert_listing_errors(once, 10)
    assert len(errors) == 2
    x = np.ones(2, sx.DataType.BFLOAT16.numpy)
    assert [np.asarray(r).tolist() for r in Interpreter(twice).run({"x": x}).values()] == [[1, 1], [1, 1]]


def test_functions_without_types_are_enough() -> None:
    text = "g (bfloat16[2] x) => (bfloat16[2] y) { y = Identity(x) }"
    assert convert_listing_errors(parse_model(text, opset=14, ir=6), 12)[0].ir_version == 8


def test_locations_are_those_of_the_original_model() -> None:
    text = "g (float[2,3] x, int64[1] a) => (float[2,3] y, float[N] z) { y = Softmax<axis = 0>(x)  z = Squeeze(x, a) }"
    _, errors = convert_listing_errors(parse_model(text, opset=13), 11)
    assert [e.location for e in errors] == ["node[1] (Squeeze)"]

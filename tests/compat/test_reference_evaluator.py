"""The look-alike of onnx's evaluator, by calls that both answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.reference
import pytest
from onnx.reference.op_run import OpRun

import sardonyx as sx
from sardonyx.compat.onnx import ReferenceEvaluator

X = np.array([[1, -2, 3]], np.float32)
TEXT = """<ir_version: 10, opset_import: ["": 21]>
g (float[N,3] x) => (float[N,3] y, float[N] s) <float[3] w = {1, 2, 3}, int64[1] axes = {1}> {
  t = Mul(x, w) y = Relu(t) s = ReduceSum <keepdims = 0> (y, axes)
}"""
OWN = """<ir_version: 10, opset_import: ["": 21, "custom": 1]>
g (float[N,3] x) => (float[N,3] y) { t = custom.InvAlpha <alpha = 0.5> (x) y = Neg(t) }"""


class InvAlpha(OpRun):  # type: ignore[misc]  # onnx has no types
    op_domain = "custom"

    def _run(self, x: Any, alpha: float | None = None) -> tuple[Any]:
        alpha = 1.0 if alpha is None else alpha
        return (np.float32(1) / (x + np.float32(alpha)),)


def both(text: str, **options: Any) -> list[Any]:
    message = onnx.parser.parse_model(text)
    return [onnx.reference.ReferenceEvaluator(message, **options), ReferenceEvaluator(message, **options)]


def test_the_same_calls_have_the_same_answers() -> None:
    theirs, ours = both(TEXT)
    assert (ours.input_names, ours.output_names) == (theirs.input_names, theirs.output_names)
    assert ours.opsets == theirs.opsets
    for names in (None, ["s"], ["s", "y"]):
        for expected, actual in zip(theirs.run(names, {"x": X}), ours.run(names, {"x": X}), strict=True):
            np.testing.assert_array_equal(actual, expected)


def test_intermediate_results_are_those_of_all_values() -> None:
    theirs, ours = both(TEXT)
    expected = theirs.run(None, {"x": X}, intermediate=True)
    actual = ours.run(None, {"x": X}, intermediate=True)
    assert {"x", "w", "t", "y", "s"} <= actual.keys()
    for name in actual.keys() & expected.keys():
        np.testing.assert_array_equal(actual[name], expected[name])


def test_verbose_runs_print_their_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    evaluator = ReferenceEvaluator(onnx.parser.parse_model(TEXT), verbose=2)
    evaluator.run(["y"], {"x": X})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Mul(x, w) -> t", " + t: float32:(1, 3): 1.0, -4.0, 9.0"]


def test_new_operators_run() -> None:
    theirs, ours = both(OWN, new_ops=[InvAlpha])
    np.testing.assert_allclose(ours.run(None, {"x": X})[0], theirs.run(None, {"x": X})[0], rtol=1e-6)


@pytest.mark.parametrize("option", [{"opsets": {"": 21}}, {"functions": [1]}, {"new_ops": [int]}])
def test_what_is_not_evaluated_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(sx.InputError, match=next(iter(option))):
        ReferenceEvaluator(onnx.parser.parse_model(TEXT), **option)

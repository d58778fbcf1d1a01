"""Models as messages of onnx and as models of onnx_ir, both ways."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import onnx_ir
import pytest

import sardonyx as sx
from models import parse_model

TEXT = "g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}> { t = Mul(x, w) y = Relu(t) }"
X = np.array([[1, -1]], np.float32)


def assert_runs(model: object) -> None:
    results = sx.Session(model).run({"x": X})  # type: ignore[arg-type]
    np.testing.assert_array_equal(results["y"], [[1, 0]])


def test_messages_go_both_ways() -> None:
    message = sx.to_onnx(parse_model(TEXT, opset=21))
    assert isinstance(message, onnx.ModelProto)
    onnx.checker.check_model(message, full_check=True)
    assert_runs(message)
    assert sx.to_onnx(sx.from_onnx(message)) == message


def test_models_of_onnx_ir_are_sources() -> None:
    model = onnx_ir.from_proto(sx.to_onnx(parse_model(TEXT, opset=21)))
    assert_runs(model)
    assert_runs(sx.load(model))
    with pytest.raises(TypeError, match="a model source must be"):
        sx.load(model.graph)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    model = parse_model(TEXT, opset=21)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(sx.MissingPackage, match="pip install onnx"):
        sx.to_onnx(model)

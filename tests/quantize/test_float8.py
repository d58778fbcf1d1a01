"""The scheme `float8`: scales, weights and activations against NumPy and onnxruntime."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnxruntime as ort
import pytest

import sardonyx as sx
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array

RNG = np.random.default_rng(5)
ROWS = RNG.standard_normal((9, 24)).astype(np.float32)
FIRST = RNG.standard_t(3, (24, 16)).astype(np.float32)
SECOND = RNG.standard_t(3, (4, 16)).astype(np.float32)


def network(opset: int = 17) -> sx.Model:
    b = sx.Builder(opset=opset)
    x = b.input("x", "float32", ["N", 24])
    return b.model(y=b.Gemm(b.Relu(b.MatMul(x, FIRST, name="first")), SECOND, transB=1, name="second"))


def rounded(numbers: Array, axis: int | None) -> Array:
    """The nearest float8 times the scale of its slice."""
    scale = np.abs(numbers).max(axis=axis, keepdims=True) / np.float32(448)
    return np.asarray((numbers / scale).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale)


def test_weights_have_a_scale_for_each_channel(tmp_path: Path) -> None:
    result = sx.quantize(network(), "float8", data={"x": ROWS}, force=True, rounds=0)
    exact = np.maximum(ROWS @ rounded(FIRST, 0), 0) @ rounded(SECOND, 1).T
    y = sx.Session(result.model).run({"x": ROWS})["y"]
    np.testing.assert_allclose(y, exact, rtol=1e-4, atol=1e-4)
    dtypes = [v.initializer.dtype for v in result.model.graph.initializers.values() if v.initializer]
    assert dtypes.count(DataType.FLOAT8E4M3FN) >= 2
    assert result.report.bytes[1] < 0.5 * result.report.bytes[0]
    assert [layer.layer for layer in result.report.layers] == ["first", "second"]
    assert all(layer.signal_to_noise > 24 for layer in result.report.layers)
    sx.save(result.model, tmp_path / "f8.onnx")
    assert sx.check(tmp_path / "f8.onnx").ok
    session = ort.InferenceSession(tmp_path / "f8.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"x": ROWS})[0], y, rtol=1e-4, atol=1e-4)


def test_activations_have_a_scale_for_each_tensor() -> None:
    model = network()
    result = sx.quantize(model, "float8", data={"x": ROWS}, activations="float8", force=True, rounds=0)
    hidden = np.maximum(rounded(ROWS, None) @ rounded(FIRST, 0), 0)
    scale = np.float32(np.maximum(ROWS @ FIRST, 0).max()) / np.float32(448)
    exact = (hidden / scale).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale @ rounded(SECOND, 1).T
    y = sx.Session(result.model).run({"x": ROWS})["y"]
    # A hidden number in the middle of two float8 numbers may become either of them.
    assert np.square(y - exact).sum() < 1e-4 * np.square(exact).sum()


def test_channels_of_zeros_stay_zeros() -> None:
    b = sx.Builder(opset=19)
    x = b.input("x", "float32", ["N", 24])
    weight = FIRST.copy()
    weight[:, 3] = 0
    result = sx.quantize(b.model(y=x @ weight), "float8", data={"x": ROWS}, force=True, rounds=0)
    assert (sx.Session(result.model).run({"x": ROWS})["y"][:, 3] == 0).all()


def test_other_types_of_activations_are_refused() -> None:
    with pytest.raises(InputError, match="activations must be"):
        sx.quantize(network(), "float8", activations="uint8")

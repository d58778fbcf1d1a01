"""Gradients of quantized tensors, which go straight through rounding, and end where the result is saturated."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from grad.test_gradient_nodes import ENGINES, outputs
from sardonyx._src.runtime.session.session import Engine

HEADER = '<ir_version: 10, opset_import: ["": 21]>'
X = np.array([[-200.0, -1.3, 0.2], [0.7, 30.4, 400.0]], np.float32)
INSIDE = np.array([[0, 1, 1], [1, 1, 0]], np.float32)
SCALE = np.float32(0.5)


def quantized(x: np.ndarray, scale: np.ndarray | np.float32) -> np.ndarray:
    return np.clip(np.rint(x / scale), -128, 127)


def gradients(attributes: str, scale: str, value: object, engine: Engine) -> dict[str, np.ndarray]:
    text = f"""{HEADER} g (float[2,3] x, float{scale} s) => (float[2,3] y) <int8 z = {{0}}> {{
      zeros = Shape(s) zp = ConstantOfShape<value = int8[1] {{0}}>(zeros)
      q = QuantizeLinear<{attributes}>(x, s, zp) y = DequantizeLinear<{attributes}>(q, s, zp)
    }}"""
    return outputs(sx.gradient(sx.from_text(text), "y", ["x", "s"]), engine, x=X, s=value)


@pytest.mark.parametrize("engine", ENGINES)
def test_one_scale(engine: Engine) -> None:
    """The gradient of the scale is that of Esser et al., 2020: the rounding error inside, the bounds outside."""
    out = gradients("axis = 0", "", SCALE, engine)
    np.testing.assert_array_equal(out["x_gradient"], INSIDE)
    codes = quantized(X, SCALE)
    np.testing.assert_allclose(out["s_gradient"], (codes - INSIDE * X / SCALE).sum(), rtol=1e-5)


@pytest.mark.parametrize("engine", ENGINES)
def test_scales_along_an_axis(engine: Engine) -> None:
    scales = np.array([0.5, 0.25, 2], np.float32)
    out = gradients("axis = 1", "[3]", scales, engine)
    codes = quantized(X, scales)
    inside = (np.abs(X - codes * scales) <= scales / 2).astype(np.float32)
    np.testing.assert_array_equal(out["x_gradient"], inside)
    np.testing.assert_allclose(out["s_gradient"], (codes - inside * X / scales).sum(0), rtol=1e-5)


def test_scales_of_blocks() -> None:
    """Blocks of two along an axis of three: the last one is shorter."""
    scales = np.array([[0.5, 0.25], [2, 4]], np.float32)
    out = gradients("axis = 1, block_size = 2", "[2,2]", scales, "reference")
    spread = scales[:, [0, 0, 1]]
    codes = quantized(X, spread)
    inside = (np.abs(X - codes * spread) <= spread / 2).astype(np.float32)
    np.testing.assert_array_equal(out["x_gradient"], inside)
    parts = codes - inside * X / spread
    np.testing.assert_allclose(out["s_gradient"], np.stack([parts[:, :2].sum(1), parts[:, 2]], 1), rtol=1e-5)


def test_other_readers_of_integers_have_no_gradient() -> None:
    text = f"""{HEADER} g (float[2,3] x) => (float[2,3] y) <float s = {{0.5}}, int8 z = {{0}}> {{
      q = QuantizeLinear(x, s, z) y = Cast<to = 1>(q)
    }}"""
    out = outputs(sx.gradient(sx.from_text(text), "y", "x"), "reference", x=X)
    np.testing.assert_array_equal(out["x_gradient"], np.zeros((2, 3)))

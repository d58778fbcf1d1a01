"""Requantization: residual additions between quantized convolutions, by the formulas of QuantizeLinear and DequantizeLinear.

Scales are powers of two, so that the formulas are exact in float64 and float32: results must be equal, ties included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from compile.test_lower_integer_products import literal, random_bytes
from models import parse_model
from sardonyx._src.compile.program import Step
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.runs.native_program import NativeProgram, compile_for_host

KINDS = {"u1": "uint8", "i1": "int8"}
CHANNELS = 70  # a tile of whole vectors, and columns that are left


@dataclass(frozen=True)
class Quantization:
    """The scale and the zero point of a tensor."""

    name: str
    scale: float
    zero: int
    dtype: str

    def literals(self) -> str:
        scale = literal(f"{self.name}s", np.float32(self.scale))
        return scale + literal(f"{self.name}z", np.array(self.zero, self.dtype))

    def dequantize(self, q: Array) -> Array:
        return np.asarray((q.astype(np.float64) - self.zero) * self.scale)

    def quantize(self, x: Array) -> Array:
        info = np.iinfo(self.dtype)
        return np.asarray(np.clip(np.rint(x / self.scale) + self.zero, info.min, info.max).astype(self.dtype))


def run_native(text: str, feeds: dict[str, Array]) -> tuple[Array, list[str]]:
    """The output `y`, and the cache keys of the kernels."""
    program = NativeProgram(compile_for_host(parse_model(text, opset=28)), 1)
    keys = [action.kernel.key for action in program.program.actions if isinstance(action, Step)]
    return np.asarray(program.run(feeds, RunLimits(), RandomSource(0))["y"]), keys


def convolve(x: Array, w: Array, scales: Array) -> Array:
    """A 1x1 convolution, with one scale for each output channel."""
    return np.asarray(np.einsum("oc,nchw->nohw", w[:, :, 0, 0].astype(np.float64) * scales[:, None], x))


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("zeros", [(0, 0, 0), (3, -7, 11), (-128, 127, -128)], ids=str)
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("order", ["c, r", "r, c"])
def test_residual_additions_round_ties_to_even_and_saturate(
    dtype: str, zeros: tuple[int, int, int], relu: bool, order: str
) -> None:
    shift = 128 if dtype == "u1" and zeros != (0, 0, 0) else 0
    x, middle, y = (
        Quantization(name, scale, zero + shift, dtype)
        for name, scale, zero in zip("xmy", (2.0**-5, 2.0**-3, 2.0**-2), zeros, strict=True)
    )
    w = random_bytes((CHANNELS, CHANNELS, 1, 1), "i1", 1)
    draw = np.random.default_rng(2)
    scales = np.float32(2.0) ** draw.integers(-9, -5, CHANNELS).astype(np.float32)
    bias = draw.integers(-8, 8, CHANNELS).astype(np.float32) / 16
    text = f"""g ({KINDS[dtype]}[N,{CHANNELS},H,W] a) => ({KINDS[dtype]}[N,{CHANNELS},H,W] y) {{
      {x.literals()} {middle.literals()} {y.literals()}
      {literal("w", w)} {literal("ws", scales)} {literal("b", bias)}
      r = DequantizeLinear(a, xs, xz)
      v = DequantizeLinear <axis = 0> (w, ws)
      p = Conv(r, v, b)
      q = QuantizeLinear(p, ms, mz)
      c = DequantizeLinear(q, ms, mz)
      t = Add({order})
      u = {"Relu" if relu else "Identity"}(t)
      y = QuantizeLinear(u, ys, yz)
    }}"""
    a = random_bytes((2, CHANNELS, 3, 5), dtype, 3)
    real = x.dequantize(a)
    inner = middle.quantize(convolve(real, w, scales.astype(np.float64)) + bias[:, None, None])
    total = middle.dequantize(inner) + real
    expected = y.quantize(np.maximum(total, 0) if relu else total)
    quotients = total / y.scale
    assert (quotients % 1 == 0.5).any(), "no ties"
    actual, keys = run_native(text, {"a": a})
    np.testing.assert_array_equal(actual, expected)
    assert not any("div(" in key for key in keys), f"kernels divide: {keys}"


@pytest.mark.parametrize("dtype", KINDS)
def test_an_addition_to_the_accumulators_is_scaled_with_them(dtype: str) -> None:
    x, y = Quantization("x", 0.25, 5, dtype), Quantization("y", 0.5, 9, dtype)
    w = random_bytes((24, 24, 1, 1), "i1", 1)
    scales = np.full(24, 2.0**-9, np.float32)
    text = f"""g ({KINDS[dtype]}[1,24,H,W] a) => ({KINDS[dtype]}[1,24,H,W] y) {{
      {x.literals()} {y.literals()} {literal("w", w)} {literal("ws", scales)}
      r = DequantizeLinear(a, xs, xz)
      v = DequantizeLinear <axis = 0> (w, ws)
      p = Conv(r, v)
      t = Add(p, r)
      y = QuantizeLinear(t, ys, yz)
    }}"""
    a = random_bytes((1, 24, 4, 7), dtype, 3)
    real = x.dequantize(a)
    actual, keys = run_native(text, {"a": a})
    np.testing.assert_array_equal(actual, y.quantize(convolve(real, w, scales.astype(np.float64)) + real))
    assert not any("div(" in key for key in keys), f"kernels divide: {keys}"


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**60], ids=str)
def test_quotients_beyond_int32_saturate_in_convolutions(scale: float) -> None:
    x, y = Quantization("x", 1.0, 128, "u1"), Quantization("y", 1 / scale, 100, "u1")
    w = random_bytes((64, 8, 1, 1), "i1", 1)
    text = f"""g (uint8[1,8,H,W] a) => (uint8[1,64,H,W] y) {{
      {x.literals()} {y.literals()} {literal("w", w)} {literal("ws", np.ones(64, np.float32))}
      r = DequantizeLinear(a, xs, xz)
      v = DequantizeLinear <axis = 0> (w, ws)
      p = Conv(r, v)
      y = QuantizeLinear(p, ys, yz)
    }}"""
    a = random_bytes((1, 8, 4, 7), "u1", 3)
    actual, _ = run_native(text, {"a": a})
    np.testing.assert_array_equal(actual, y.quantize(convolve(x.dequantize(a), w, np.ones(64))))


def test_results_of_functions_are_divided() -> None:
    x, y = Quantization("x", 0.25, 5, "u1"), Quantization("y", 2.0**-7, 0, "u1")
    w = random_bytes((24, 24, 1, 1), "i1", 1)
    text = f"""g (uint8[1,24,H,W] a) => (uint8[1,24,H,W] y) {{
      {x.literals()} {y.literals()} {literal("w", w)} {literal("ws", np.full(24, 2.0**-10, np.float32))}
      r = DequantizeLinear(a, xs, xz)
      v = DequantizeLinear <axis = 0> (w, ws)
      p = Conv(r, v)
      t = Abs(p)
      y = QuantizeLinear(t, ys, yz)
    }}"""
    a = random_bytes((1, 24, 4, 7), "u1", 3)
    actual, keys = run_native(text, {"a": a})
    expected = y.quantize(np.abs(convolve(x.dequantize(a), w, np.full(24, 2.0**-10))))
    np.testing.assert_array_equal(actual, expected)
    assert any("div(" in key for key in keys), "the quotient of a function is not a sum of integers"


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("zero", [0, 17])
def test_depthwise_convolutions_round_ties_to_even_and_saturate(dtype: str, zero: int) -> None:
    x, y = Quantization("x", 0.25, 5, dtype), Quantization("y", 2.0, zero, dtype)
    w = random_bytes((CHANNELS, 1, 3, 3), "i1", 1)
    scales = np.float32(2.0) ** np.random.default_rng(2).integers(-7, -3, CHANNELS).astype(np.float32)
    text = f"""g ({KINDS[dtype]}[1,{CHANNELS},H,W] a) => ({KINDS[dtype]}[1,{CHANNELS},H,W] y) {{
      {x.literals()} {y.literals()} {literal("w", w)} {literal("ws", scales)}
      r = DequantizeLinear(a, xs, xz)
      v = DequantizeLinear <axis = 0> (w, ws)
      p = Conv <group = {CHANNELS}, pads = [1, 1, 1, 1]> (r, v)
      y = QuantizeLinear(p, ys, yz)
    }}"""
    a = random_bytes((1, CHANNELS, 5, 9), dtype, 3)
    padded = np.pad(x.dequantize(a), ((0, 0), (0, 0), (1, 1), (1, 1)))
    filters = w[:, 0].astype(np.float64) * scales[:, None, None]
    real = sum(
        padded[:, :, i : i + 5, j : j + 9] * filters[:, i, j][:, None, None]
        for i in range(3)
        for j in range(3)
    )
    assert isinstance(real, np.ndarray) and (real / y.scale % 1 == 0.5).any(), "no ties"
    actual, keys = run_native(text, {"a": a})
    np.testing.assert_array_equal(actual, y.quantize(real))
    assert any(key.startswith("depthwise") for key in keys), keys

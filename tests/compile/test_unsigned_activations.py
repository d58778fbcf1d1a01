"""Activations quantized to int8 are computed as uint8, with equal results."""

from __future__ import annotations

import numpy as np
import pytest

from compile.test_lower_integer_products import literal, random_bytes
from compile.test_requantization import Quantization, convolve, run_native
from models import parse_model
from sardonyx._src.compile.prepare.unsigned_activations import quantize_unsigned
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Tensor

IMAGE = (2, 8, 3, 5)


def draw_image() -> Array:
    return np.random.default_rng(3).integers(-600, 600, IMAGE).astype(np.float32) / 8


@pytest.mark.parametrize("zero", [-128, 0, 127])
def test_saturation_and_ties_are_those_of_int8(zero: int) -> None:
    x, y = Quantization("x", 0.25, zero, "i1"), Quantization("y", 2.0, zero, "i1")
    w, scales = random_bytes((16, 8, 1, 1), "i1", 1), np.full(16, 2.0**-6, np.float32)
    text = f"""g (float[2,8,3,5] a) => (float[2,16,3,5] y) {{
      {x.literals()} {y.literals()} {literal("w", w)} {literal("ws", scales)}
      q = QuantizeLinear(a, xs, xz)
      r = DequantizeLinear(q, xs, xz)
      v = DequantizeLinear <axis = 0> (w, ws)
      p = Conv(r, v)
      o = QuantizeLinear(p, ys, yz)
      y = DequantizeLinear(o, ys, yz)
    }}"""
    image = draw_image()
    real = x.dequantize(x.quantize(image))
    expected = y.dequantize(y.quantize(convolve(real, w, scales.astype(np.float64))))
    actual, keys = run_native(text, {"a": image})
    np.testing.assert_array_equal(actual, expected)
    convolutions = [key for key in keys if key.startswith("convolution")]
    assert convolutions and all(key.startswith("convolution_u8") for key in convolutions), keys


def test_an_omitted_zero_point_is_the_middle_of_uint8() -> None:
    text = """g (float[2,8,3,5] a) => (float[2,8,3,5] y) <float s = {0.5}> {
      q = QuantizeLinear <output_dtype = 3> (a, s)
      y = DequantizeLinear(q, s)
    }"""
    image = draw_image()
    model = parse_model(text, opset=28)
    quantize_unsigned(model)
    quantize, dequantize = model.graph.nodes
    for node in (quantize, dequantize):
        zero = node.inputs[2]
        assert zero is not None and isinstance(zero.initializer, Tensor)
        assert zero.initializer.dtype is DataType.UINT8 and zero.initializer.numpy().item() == 128
    assert quantize.attributes["output_dtype"].value == DataType.UINT8.value
    actual, _ = run_native(text, {"a": image})
    np.testing.assert_array_equal(actual, np.clip(np.rint(image / 0.5), -128, 127) * 0.5)


@pytest.mark.parametrize(
    "reader", ["y = Identity(q)", "m = MaxPool <kernel_shape = [1, 1]> (q) y = Identity(m)"]
)
def test_values_with_other_readers_stay_int8(reader: str) -> None:
    text = f"""g (float[2,8,3,5] a) => (int8[2,8,3,5] y, float[2,8,3,5] d) <float s = {{0.5}}, int8 z = {{3}}> {{
      q = QuantizeLinear(a, s, z)
      d = DequantizeLinear(q, s, z)
      {reader}
    }}"""
    model = parse_model(text, opset=28)
    before = [node.inputs for node in model.graph.nodes]
    quantize_unsigned(model)
    assert [node.inputs for node in model.graph.nodes] == before


def test_bytes_of_other_types_are_left_alone() -> None:
    text = """g (float[2,8,3,5] a, int8 z) => (float[2,8,3,5] y, float[2,8,3,5] d)
      <float s = {0.5}, uint8 u = {3}> {
      q = QuantizeLinear(a, s, u)
      y = DequantizeLinear(q, s, u)
      i = QuantizeLinear(a, s, z)
      d = DequantizeLinear(i, s, z)
    }"""
    model = parse_model(text, opset=28)
    before = [node.inputs for node in model.graph.nodes]
    quantize_unsigned(model)
    assert [node.inputs for node in model.graph.nodes] == before

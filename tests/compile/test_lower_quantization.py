"""Quantized graphs become native steps: what stands between integers and floats goes into the kernels beside it."""

from __future__ import annotations

import numpy as np
import pytest

from compile.lowered import normal, runs
from models import model
from sardonyx._src.compile.step import Step
from sardonyx._src.runtime.native import compile_model

SCALES = "s = Constant <value = float[3] {0.5, 0.1, 2}> ()  z = Constant <value = uint8[3] {3, 200, 0}> ()"
ONE = "s = Constant <value = float {0.05}> ()  z = Constant <value = uint8 {120}> ()"


def kernels(text: str) -> list[str]:
    actions = compile_model(model(text, opset=28)).actions
    return [action.kernel.key.split("/")[0].split(":")[0] for action in actions if isinstance(action, Step)]


@pytest.mark.parametrize(
    ("axis", "shape"), [(0, (3, 5)), (1, (5, 3)), (-1, (2, 5, 3)), (1, (2, 3, 17)), (1, (1, 3, 0))]
)
def test_scales_along_an_axis(axis: int, shape: tuple[int, ...]) -> None:
    dims = ",".join(f"D{i}" if size != 3 else "3" for i, size in enumerate(shape))
    text = f"""g (float[{dims}] x) => (uint8[{dims}] y) {{
      {SCALES}
      y = QuantizeLinear <axis = {axis}> (x, s, z)
    }}"""
    x = normal(*shape) * 100
    (found,) = runs(text, {"x": x})
    along = (-1, *(1 for _ in shape[axis % len(shape) + 1 :]))
    scale, zero = (np.array(n, np.float32).reshape(along) for n in ((0.5, 0.1, 2), (3, 200, 0)))
    np.testing.assert_array_equal(found, np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8))


def test_scales_may_be_inputs() -> None:
    text = """g (float[A,B] x, float[B] s, int8[B] z) => (float[A,B] y) {
      q = QuantizeLinear <axis = 1> (x, s, z)
      y = DequantizeLinear <axis = 1> (q, s, z)
    }"""
    x, s = normal(4, 9), np.abs(normal(9, seed=1)) * np.float32(0.1) + np.float32(0.01)
    z = np.arange(-4, 5, dtype=np.int8)
    (found,) = runs(text, {"x": x, "s": s, "z": z})
    whole = np.clip(np.rint(x / s) + z.astype(np.float32), -128, 127)
    np.testing.assert_array_equal(found, (whole - z) * s)


def test_what_is_between_two_dequantizations_and_a_quantization_is_one_kernel() -> None:
    text = f"""g (uint8[A,B] x, uint8[A,B] w) => (uint8[A,B] y, uint8[A,B] v) {{
      {ONE}
      a = DequantizeLinear(x, s, z)
      b = DequantizeLinear(w, s, z)
      c = Add(a, b)
      y = QuantizeLinear(c, s, z)
      d = Mul(a, a)
      v = QuantizeLinear(d, s, z)
    }}"""
    assert kernels(text) == ["elementwise", "elementwise"]
    feed = {name: np.random.default_rng(i).integers(0, 256, (7, 33), np.uint8) for i, name in enumerate("xw")}
    runs(text, feed)


def test_floats_of_integers_are_made_for_those_who_want_floats() -> None:
    text = f"""g (uint8[N,4,5] x) => (float[N,4,5] y, float[N,4,5] d) {{
      {ONE}
      d = DequantizeLinear(x, s, z)
      y = Softmax(d)
    }}"""
    runs(text, {"x": np.random.default_rng(0).integers(0, 256, (2, 4, 5), np.uint8)})


def test_a_dequantization_is_there_for_bodies_and_host_calls() -> None:
    text = f"""g (uint8[6] x, bool c) => (float[n] y) {{
      {ONE}
      d = DequantizeLinear(x, s, z)
      picked = Constant <value = bool[6] {{1, 0, 1, 1, 0, 0}}> ()
      y = If <
        then_branch = t () => (float[k] a) {{ a = Compress(d, picked) }},
        else_branch = e () => (float[6] b) {{ b = Neg(d) }}
      > (c)
    }}"""
    x = np.arange(6, dtype=np.uint8)
    runs(text, {"x": x, "c": np.array(True)}, {"x": x, "c": np.array(False)}, native=False)


@pytest.mark.parametrize("shape", [(0, 4), (1, 1), (3, 5), (2, 250), (40, 1000), (3, 16384)])
def test_a_tensor_is_quantized_by_its_own_range(shape: tuple[int, int]) -> None:
    text = """g (float[A,B] x) => (uint8[A,B] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }"""
    for x in (
        normal(*shape),
        np.abs(normal(*shape)) + 1,
        -np.abs(normal(*shape)),
        np.zeros(shape, np.float32),
    ):
        (found,) = runs(text, {"x": x})
        low, high = np.float32(x.min(initial=0)), np.float32(x.max(initial=0))
        scale = (high - low) / np.float32(255)
        if scale == 0:
            continue
        zero = np.clip(np.rint(-low / scale), 0, 255)
        np.testing.assert_array_equal(found, np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8))


def test_a_range_with_nan_is_no_range() -> None:
    text = """g (float[A] x) => (uint8[A] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }"""
    x = normal(70)
    x[33] = np.nan
    (found,) = runs(text, {"x": x})
    assert not found.any(), "what is no number becomes the lowest one"


@pytest.mark.parametrize("blocks", [False, True])
def test_constant_weights_are_floats_for_kernels_that_know_no_others(blocks: bool) -> None:
    scale = "float[2,3] {1, 2, 3, 0.5, 0.25, 4}" if blocks else "float[3] {1, 2, 0.5}"
    how = "axis = 0, block_size = 2" if blocks else "axis = 1"
    text = f"""g (float[M,4] x) => (float[M,3] y) {{
      q = Constant <value = int8[4,3] {{1, -2, 3, 4, 5, 6, -7, 8, 9, 100, -128, 127}}> ()
      s = Constant <value = {scale}> ()
      w = DequantizeLinear <{how}> (q, s)
      y = MatMul(x, w)
    }}"""
    runs(text, {"x": normal(5, 4)})

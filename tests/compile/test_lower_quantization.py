"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: results, and fusion into neighboring kernels."""

from __future__ import annotations

import numpy as np
import pytest

from compile.reference_comparison import assert_matches_reference, normal
from models import parse_model
from sardonyx._src.compile.program import Step
from sardonyx._src.runtime.runs.native_program import compile_for_host

SCALES = "s = Constant <value = float[3] {0.5, 0.1, 2}> ()  z = Constant <value = uint8[3] {3, 200, 0}> ()"
ONE = "s = Constant <value = float {0.05}> ()  z = Constant <value = uint8 {120}> ()"


def kernels(text: str) -> list[str]:
    actions = compile_for_host(parse_model(text, opset=28)).program.actions
    return [action.kernel.key.split("/")[0].split(":")[0] for action in actions if isinstance(action, Step)]


@pytest.mark.parametrize(
    ("axis", "shape"), [(0, (3, 5)), (1, (5, 3)), (-1, (2, 5, 3)), (1, (2, 3, 17)), (1, (1, 3, 0))]
)
def test_quantize_linear_along_an_axis(axis: int, shape: tuple[int, ...]) -> None:
    dims = ",".join(f"D{i}" if size != 3 else "3" for i, size in enumerate(shape))
    text = f"""g (float[{dims}] x) => (uint8[{dims}] y) {{
      {SCALES}
      y = QuantizeLinear <axis = {axis}> (x, s, z)
    }}"""
    x = normal(*shape) * 100
    (result,) = assert_matches_reference(text, {"x": x})
    broadcast_shape = (-1, *(1 for _ in shape[axis % len(shape) + 1 :]))
    scale, zero = (np.array(n, np.float32).reshape(broadcast_shape) for n in ((0.5, 0.1, 2), (3, 200, 0)))
    np.testing.assert_array_equal(result, np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8))


def test_scales_may_be_inputs_of_the_graph() -> None:
    text = """g (float[A,B] x, float[B] s, int8[B] z) => (float[A,B] y) {
      q = QuantizeLinear <axis = 1> (x, s, z)
      y = DequantizeLinear <axis = 1> (q, s, z)
    }"""
    x, s = normal(4, 9), np.abs(normal(9, seed=1)) * np.float32(0.1) + np.float32(0.01)
    z = np.arange(-4, 5, dtype=np.int8)
    (result,) = assert_matches_reference(text, {"x": x, "s": s, "z": z})
    rounded = np.clip(np.rint(x / s) + z.astype(np.float32), -128, 127)
    np.testing.assert_array_equal(result, (rounded - z) * s)


def test_operators_between_dequantize_and_quantize_are_one_kernel() -> None:
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
    assert_matches_reference(text, feed)


def test_a_dequantized_value_is_materialized_for_other_consumers() -> None:
    text = f"""g (uint8[N,4,5] x) => (float[N,4,5] y, float[N,4,5] d) {{
      {ONE}
      d = DequantizeLinear(x, s, z)
      y = Softmax(d)
    }}"""
    assert_matches_reference(text, {"x": np.random.default_rng(0).integers(0, 256, (2, 4, 5), np.uint8)})


def test_a_dequantized_value_is_materialized_for_subgraphs_and_fallbacks() -> None:
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
    assert_matches_reference(
        text, {"x": x, "c": np.array(True)}, {"x": x, "c": np.array(False)}, native=False
    )


@pytest.mark.parametrize("shape", [(0, 4), (1, 1), (3, 5), (2, 250), (40, 1000), (3, 16384)])
def test_dynamic_quantize_linear_uses_the_range_of_its_input(shape: tuple[int, int]) -> None:
    text = """g (float[A,B] x) => (uint8[A,B] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }"""
    for x in (
        normal(*shape),
        np.abs(normal(*shape)) + 1,
        -np.abs(normal(*shape)),
        np.zeros(shape, np.float32),
    ):
        (result,) = assert_matches_reference(text, {"x": x})
        low, high = np.float32(x.min(initial=0)), np.float32(x.max(initial=0))
        scale = (high - low) / np.float32(255)
        if scale == 0:
            continue
        zero = np.clip(np.rint(-low / scale), 0, 255)
        np.testing.assert_array_equal(result, np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8))


@pytest.mark.parametrize("shape", [(3, 17), (0, 4)])
def test_dynamic_quantize_linear_of_an_empty_range_has_the_scale_1(shape: tuple[int, int]) -> None:
    text = "g (float[A,B] x) => (float s, uint8[A,B] y, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }"
    (scale,) = assert_matches_reference(text, {"x": np.zeros(shape, np.float32)})
    assert scale == 1


def test_dynamic_quantize_linear_of_nan_is_zero() -> None:
    text = """g (float[A] x) => (uint8[A] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }"""
    x = normal(70)
    x[33] = np.nan
    (result,) = assert_matches_reference(text, {"x": x})
    assert not result.any(), "NaN must become the lowest value"


@pytest.mark.parametrize("blocks", [False, True])
def test_constant_weights_are_dequantized_for_float_kernels(blocks: bool) -> None:
    scale = "float[2,3] {1, 2, 3, 0.5, 0.25, 4}" if blocks else "float[3] {1, 2, 0.5}"
    attributes = "axis = 0, block_size = 2" if blocks else "axis = 1"
    text = f"""g (float[M,4] x) => (float[M,3] y) {{
      q = Constant <value = int8[4,3] {{1, -2, 3, 4, 5, 6, -7, 8, 9, 100, -128, 127}}> ()
      s = Constant <value = {scale}> ()
      w = DequantizeLinear <{attributes}> (q, s)
      y = MatMul(x, w)
    }}"""
    assert_matches_reference(text, {"x": normal(5, 4)})

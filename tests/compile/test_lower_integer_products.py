"""Integer products and convolutions: MatMulInteger, ConvInteger, QLinear operators, and QDQ patterns in int8."""

from __future__ import annotations

import re

import numpy as np
import pytest

from compile.reference_comparison import normal
from models import parse_model
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.steps.program import FallbackOp
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.runs.native_program import NativeProgram, compile_for_host

TILE = re.compile(r"matmul_bytes_\d+(_amx\d+)?")


def run_both(
    text: str, *feeds: dict[str, Array], native: bool = True
) -> list[tuple[dict[str, Array], dict[str, Array]]]:
    """The outputs of the native program and of the reference engine for each feed."""
    graph = parse_model(text, opset=28)
    program, reference = NativeProgram(compile_for_host(graph), 1), Interpreter(graph)
    fallbacks = [a.node.op_type for a in program.program.actions if isinstance(a, FallbackOp)]
    assert not (native and fallbacks), f"fallback operations: {fallbacks}"
    results = []
    for feed in feeds:
        result = program.run(feed, RunLimits(), RandomSource(0))
        expected = reference.run(feed)
        results.append(tuple({n: np.asarray(v) for n, v in each.items()} for each in (result, expected)))
    return results  # type: ignore[return-value]


def assert_equal_to_reference(text: str, *feeds: dict[str, Array], native: bool = True) -> None:
    for result, expected in run_both(text, *feeds, native=native):
        for name, value in expected.items():
            np.testing.assert_array_equal(result[name], value, name)


def assert_close_to_reference(text: str, *feeds: dict[str, Array]) -> None:
    """Asserts equality up to rounding: one element in a hundred may differ by 1."""
    for result, expected in run_both(text, *feeds):
        for name, value in expected.items():
            distance = np.abs(result[name].astype(np.int64) - value.astype(np.int64))
            assert result[name].dtype == value.dtype and result[name].shape == value.shape
            assert distance.max(initial=0) <= 1 and int(distance.sum()) * 100 <= distance.size + 100, (
                f"{name} is {distance.max()} apart"
            )


def kernels(text: str) -> list[str]:
    """The kernels of the steps, without the register tiles of products, which depend on the processor."""
    actions = compile_for_host(parse_model(text, opset=28)).program.actions
    names = [a.kernel.key.split("/")[0].split(":")[0] for a in actions if isinstance(a, Step)]
    return [TILE.sub("matmul_bytes", name) for name in names]


def random_bytes(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max, shape, dtype, endpoint=True)


def literal(name: str, array: Array | np.float32) -> str:
    array = np.asarray(array)
    kind = {"u1": "uint8", "i1": "int8", "i4": "int32", "f4": "float"}[array.dtype.str[1:]]
    dims = f"[{','.join(map(str, array.shape))}]" if array.shape else ""
    return f"{name} = Constant <value = {kind}{dims} {{{', '.join(map(repr, array.reshape(-1).tolist()))}}}> ()\n"


# --- integer operators -----------------------------------------------------------------------


@pytest.mark.parametrize("left", ["u1", "i1"])
@pytest.mark.parametrize("right", ["u1", "i1"])
@pytest.mark.parametrize("zero", ["constant", "input", "none"])
@pytest.mark.parametrize("zeros", ["of columns", "one", "none"])
def test_matmul_integer_subtracts_zero_points(left: str, right: str, zero: str, zeros: str) -> None:
    kinds = {"u1": "uint8", "i1": "int8"}
    b = random_bytes((10, 7), right, 1)
    point, points = np.array(99, left), random_bytes((7,) if zeros == "of columns" else (), right, 2)
    names = ["a", "b", "" if zero == "none" else "z", "" if zeros == "none" else "zs"]
    constants = literal("b", b) + (literal("z", point) if zero == "constant" else "") + literal("zs", points)
    zero_input = f", {kinds[left]} z" if zero == "input" else ""
    text = f"""g ({kinds[left]}[N,M,10] a{zero_input}) => (int32[N,M,7] y) {{
      {constants} y = MatMulInteger({", ".join(names).rstrip(", ")})
    }}"""
    feeds = [{"a": random_bytes((n, m, 10), left)} for n, m in ((1, 1), (2, 13), (3, 0))]
    assert_equal_to_reference(text, *(feed | ({"z": point} if zero == "input" else {}) for feed in feeds))


def test_zero_points_of_single_rows_fall_back() -> None:
    text = f"""g (uint8[2,3] a, uint8[2] z) => (int32[2,4] y) {{
      {literal("b", random_bytes((3, 4), "i1"))} y = MatMulInteger(a, b, z)
    }}"""
    assert_equal_to_reference(
        text, {"a": random_bytes((2, 3), "u1"), "z": random_bytes((2,), "u1", 3)}, native=False
    )


def test_scaling_fuses_into_the_epilogue_of_a_product() -> None:
    text = f"""g (float[1,T,10] x) => (float[1,T,6] y) {{
      {literal("b", random_bytes((10, 6), "u1", 1))} {literal("zs", random_bytes((6,), "u1", 2))}
      {literal("ws", np.abs(normal(6)))} {literal("bias", normal(6, seed=3))}
      q, s, z = DynamicQuantizeLinear(x)
      p = MatMulInteger(q, b, z, zs)
      c = Cast <to = 1> (p)
      f = Mul(s, ws)
      m = Mul(c, f)
      a = Add(m, bias)
      y = Relu(a)
    }}"""
    products = [name for name in kernels(text) if name.startswith(("matmul", "row_sums"))]
    assert products == ["row_sums_int8_False", "matmul_bytes_False_False"]
    for result, expected in run_both(text, *({"x": normal(1, t, 10)} for t in (1, 33, 9))):
        np.testing.assert_allclose(
            result["y"], expected["y"], 1e-6, 1e-5 * float(np.abs(expected["y"]).max(initial=1))
        )


@pytest.mark.parametrize("left", ["u1", "i1"])
@pytest.mark.parametrize("right", ["u1", "i1"])
@pytest.mark.parametrize("is_input", [True, False])
@pytest.mark.parametrize("shape", [(6, 5, 1, 1), (6, 5, 3, 3), (5, 1, 3, 3)], ids=str)
def test_conv_integer_subtracts_zero_points(
    left: str, right: str, is_input: bool, shape: tuple[int, ...]
) -> None:
    kinds, group = {"u1": "uint8", "i1": "int8"}, 5 // shape[1]
    zero, zeros = np.array(77, left), np.array(120 if right == "u1" else 0, right)
    weights = np.clip(random_bytes(shape, right, 1), *((0, 240) if right == "u1" else (-128, 127))).astype(
        right
    )
    constants = literal("w", weights) + literal("zs", zeros) + ("" if is_input else literal("z", zero))
    text = f"""g ({kinds[left]}[N,5,H,W] x{f", {kinds[left]} z" if is_input else ""}) => (int32[N,{shape[0]},P,Q] y) {{
      {constants} y = ConvInteger <pads = [1, 0, 1, 1], group = {group}> (x, w, z, zs)
    }}"""
    feeds = [{"x": random_bytes((n, 5, h, w), left)} for n, h, w in ((1, 4, 4), (2, 7, 9))]
    assert_equal_to_reference(text, *(feed | ({"z": zero} if is_input else {}) for feed in feeds))


@pytest.mark.parametrize("group", [1, 5])
def test_qlinear_conv_rounds_once(group: int) -> None:
    w = random_bytes((5, 5 // group, 3, 3), "i1", 1)
    text = f"""g (uint8[N,5,H,W] x) => (uint8[N,5,P,Q] y) {{
      {literal("w", w)} {literal("ws", np.abs(normal(5)) * np.float32(0.01))} {literal("wz", np.zeros(5, "i1"))}
      {literal("xs", np.float32(0.05))} {literal("xz", np.array(130, "u1"))}
      {literal("ys", np.float32(0.2))} {literal("yz", np.array(101, "u1"))}
      {literal("b", np.array([0, 5000, -70000, 3, 1], "i4"))}
      y = QLinearConv <pads = [1, 1, 1, 1], group = {group}> (x, xs, xz, w, ws, wz, ys, yz, b)
    }}"""
    assert_equal_to_reference(text, *({"x": random_bytes((n, 5, h, h), "u1")} for n, h in ((1, 3), (2, 8))))


@pytest.mark.parametrize("dtype", ["u1", "i1"])
def test_qlinear_matmul_rounds_once(dtype: str) -> None:
    kind = {"u1": "uint8", "i1": "int8"}[dtype]
    text = f"""g ({kind}[N,M,9] x) => ({kind}[N,M,5] y) {{
      {literal("w", random_bytes((9, 5), dtype, 1))} {literal("ws", np.abs(normal(5)) * np.float32(0.01))}
      {literal("wz", random_bytes((5,), dtype, 4))} {literal("xs", np.float32(0.05))}
      {literal("xz", np.array(13, dtype))} {literal("ys", np.float32(0.02))}
      {literal("yz", np.array(11, dtype))} y = QLinearMatMul(x, xs, xz, w, ws, wz, ys, yz)
    }}"""
    assert_equal_to_reference(text, *({"x": random_bytes((n, m, 9), dtype)} for n, m in ((1, 1), (3, 20))))


@pytest.mark.parametrize("terms", [15, 0])
@pytest.mark.parametrize("columns", [3, 0])
def test_products_of_empty_weights(terms: int, columns: int) -> None:
    """Sums of no terms, and results without columns, of QLinearMatMul and between DequantizeLinear and QuantizeLinear."""
    w, zero = np.zeros((terms, columns), "i1"), literal("wz", np.zeros(columns, "i1"))
    text = f"""g (int8[N,{terms}] x) => (int8[N,{columns}] y, float[N,{columns}] v) {{
      {literal("w", w)} {literal("ws", np.ones(columns, "f4"))} {zero} {literal("s", np.float32(0.5))}
      {literal("z", np.array(3, "i1"))} y = QLinearMatMul(x, s, z, w, ws, wz, s, z)
      d = DequantizeLinear(x, s, z)  u = DequantizeLinear <axis = 1> (w, ws, wz)  v = MatMul(d, u) }}"""
    assert_equal_to_reference(text, {"x": random_bytes((2, terms), "i1")})


# --- QDQ patterns ----------------------------------------------------------------------------

SCALES = literal("s", np.float32(0.04)) + literal("z", np.array(117, "u1"))


def layer(x: str, y: str, w: Array, bias: bool, group: int = 1) -> str:
    """A QDQ convolution: DequantizeLinear, Conv, QuantizeLinear."""
    scales = np.abs(normal(len(w), seed=5)) * np.float32(0.02) + np.float32(0.001)
    added = literal(f"{y}b", normal(len(w), seed=6)) if bias else ""
    pad = w.shape[2] // 2
    return f"""{literal(f"{y}w", w)} {literal(f"{y}s", scales)} {added}
      {y}x = DequantizeLinear({x}, s, z)
      {y}v = DequantizeLinear <axis = 0> ({y}w, {y}s)
      {y}c = Conv <pads = [{pad}, {pad}, {pad}, {pad}], group = {group}> ({y}x, {y}v{f", {y}b" if bias else ""})
      {y} = QuantizeLinear({y}c, s, z)
    """


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("relu", [True, False])
def test_quantized_convolutions_are_computed_in_int8(bias: bool, relu: bool) -> None:
    text = f"""g (uint8[N,6,H,W] x) => (uint8[N,6,H,W] y) {{ {SCALES}
      {layer("x", "a", random_bytes((9, 6, 1, 1), "i1", 1), bias)}
      {layer("a", "b", random_bytes((9, 1, 3, 3), "i1", 2), bias, 9)}
      {layer("b", "y", random_bytes((6, 9, 3, 3), "i1", 3), bias)}
    }}"""
    if relu:
        text = text.replace("b = QuantizeLinear(bc,", "br = Relu(bc)  b = QuantizeLinear(br,")
    results = kernels(text)
    assert not any(name.endswith("f32") or "f32" in name for name in results), f"{results} work on floats"
    assert_close_to_reference(text, *({"x": random_bytes((n, 6, h, h), "u1")} for n, h in ((1, 1), (2, 9))))


def test_a_residual_addition_fuses_into_a_quantized_convolution() -> None:
    text = f"""g (uint8[N,8,H,W] x) => (uint8[N,8,H,W] y) {{ {SCALES}
      {layer("x", "a", random_bytes((8, 8, 1, 1), "i1", 1), True)}
      p = DequantizeLinear(x, s, z)
      q = DequantizeLinear(a, s, z)
      t = Add(p, q)
      u = QuantizeLinear(t, s, z)
      {layer("u", "y", random_bytes((8, 8, 1, 1), "i1", 2), True)}
    }}"""
    results = kernels(text)
    assert sum(name.startswith("convolution") for name in results) == 2 and "elementwise" not in results, (
        results
    )
    assert_close_to_reference(text, *({"x": random_bytes((n, 8, h, h), "u1")} for n, h in ((1, 1), (2, 9))))


@pytest.mark.parametrize("op", ["Gemm", "MatMul"])
def test_quantized_products_are_computed_in_int8(op: str) -> None:
    shape, attributes = ((5, 11), "<transB = 1>") if op == "Gemm" else ((11, 5), "")
    bias = ", b" if op == "Gemm" else ""
    text = f"""g (uint8[N,11] x) => (uint8[N,5] y) {{ {SCALES}
      {literal("q", random_bytes(shape, "i1", 1))} {literal("ws", np.abs(normal(5)) * np.float32(0.02))}
      {literal("b", normal(5, seed=2))} {literal("t", np.float32(0.3))}
      f = DequantizeLinear(x, s, z)
      w = DequantizeLinear <axis = {shape.index(5)}> (q, ws)
      c = {op} {attributes} (f, w{bias})
      y = QuantizeLinear(c, t, z)
    }}"""
    assert any("bytes" in name for name in kernels(text))
    assert_close_to_reference(text, *({"x": random_bytes((n, 11), "u1")} for n in (0, 1, 40)))


@pytest.mark.parametrize("scale", [0.0, np.inf, np.nan, 1e-38])
def test_extreme_scales_are_computed_in_float32(scale: float) -> None:
    w = random_bytes((4, 4, 1, 1), "i1", 1)
    text = f"""g (uint8[1,4,3,3] x, float t) => (uint8[1,4,3,3] y) {{
      {literal("w", w)} {literal("z", np.array(7, "u1"))}
      f = DequantizeLinear(x, t, z)
      one = Constant <value = float {{1}}> ()
      v = DequantizeLinear(w, one)
      c = Conv(f, v)
      y = QuantizeLinear(c, one, z)
    }}"""
    assert_equal_to_reference(text, {"x": random_bytes((1, 4, 3, 3), "u1"), "t": np.array(scale, np.float32)})

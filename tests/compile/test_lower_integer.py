"""Products of integers in graphs: alone, and in the place of products of the floats that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from compile.lowered import normal
from models import model
from sardonyx._src.compile.lower import quantized
from sardonyx._src.compile.program import HostCall
from sardonyx._src.compile.step import Step
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.native import NativeProgram, compile_model


@pytest.fixture
def fast_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers are done in bytes on processors, too, where floats are as fast."""
    monkeypatch.setattr(quantized, "has_fast_bytes", lambda target: True)


def both(
    text: str, *feeds: dict[str, Array], native: bool = True
) -> list[tuple[dict[str, Array], dict[str, Array]]]:
    """What native steps and what the reference engine make of each feed."""
    graph = model(text, opset=28)
    program, reference = NativeProgram(compile_model(graph), 1), Interpreter(graph)
    calls = [a.node.op_type for a in program.program.actions if isinstance(a, HostCall)]
    assert not (native and calls), f"{calls} are run by the host"
    found = []
    for feed in feeds:
        made = program.run(feed, RunLimits(), np.random.default_rng(0))
        wanted = reference.run(feed)
        found.append(tuple({n: np.asarray(v) for n, v in one.items()} for one in (made, wanted)))
    return found  # type: ignore[return-value]


def same(text: str, *feeds: dict[str, Array], native: bool = True) -> None:
    for made, wanted in both(text, *feeds, native=native):
        for name, value in wanted.items():
            np.testing.assert_array_equal(made[name], value, name)


def close(text: str, *feeds: dict[str, Array]) -> None:
    """Sums of floats are rounded in every order: a number in a hundred may be its neighbour."""
    for made, wanted in both(text, *feeds):
        for name, value in wanted.items():
            apart = np.abs(made[name].astype(np.int64) - value.astype(np.int64))
            assert made[name].dtype == value.dtype and made[name].shape == value.shape
            assert apart.max(initial=0) <= 1 and int(apart.sum()) * 100 <= apart.size + 100, (
                f"{name} is {apart.max()} apart"
            )


def kernels(text: str) -> list[str]:
    actions = compile_model(model(text, opset=28)).actions
    return [a.kernel.key.split("/")[0].split(":")[0] for a in actions if isinstance(a, Step)]


def bytes_of(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max, shape, dtype, endpoint=True)


def literal(name: str, array: Array | np.float32) -> str:
    array = np.asarray(array)
    kind = {"u1": "uint8", "i1": "int8", "i4": "int32", "f4": "float"}[array.dtype.str[1:]]
    dims = f"[{','.join(map(str, array.shape))}]" if array.shape else ""
    return f"{name} = Constant <value = {kind}{dims} {{{', '.join(map(repr, array.reshape(-1).tolist()))}}}> ()\n"


# --- alone -----------------------------------------------------------------------------------


@pytest.mark.parametrize("left", ["u1", "i1"])
@pytest.mark.parametrize("right", ["u1", "i1"])
@pytest.mark.parametrize("zero", ["known", "given", "none"])
@pytest.mark.parametrize("zeros", ["of columns", "one", "none"])
def test_products_less_zero_points(left: str, right: str, zero: str, zeros: str) -> None:
    kinds = {"u1": "uint8", "i1": "int8"}
    b = bytes_of((10, 7), right, 1)
    point, points = np.array(99, left), bytes_of((7,) if zeros == "of columns" else (), right, 2)
    names = ["a", "b", "" if zero == "none" else "z", "" if zeros == "none" else "zs"]
    constants = literal("b", b) + (literal("z", point) if zero == "known" else "") + literal("zs", points)
    given = f", {kinds[left]} z" if zero == "given" else ""
    text = f"""g ({kinds[left]}[N,M,10] a{given}) => (int32[N,M,7] y) {{
      {constants} y = MatMulInteger({", ".join(names).rstrip(", ")})
    }}"""
    feeds = [{"a": bytes_of((n, m, 10), left)} for n, m in ((1, 1), (2, 13), (3, 0))]
    same(text, *(feed | ({"z": point} if zero == "given" else {}) for feed in feeds))


def test_rows_with_zero_points_of_their_own_are_left_to_the_host() -> None:
    text = f"""g (uint8[2,3] a, uint8[2] z) => (int32[2,4] y) {{
      {literal("b", bytes_of((3, 4), "i1"))} y = MatMulInteger(a, b, z)
    }}"""
    same(text, {"a": bytes_of((2, 3), "u1"), "z": bytes_of((2,), "u1", 3)}, native=False)


def test_a_quantized_product_is_scaled_where_it_is_made() -> None:
    text = f"""g (float[1,T,10] x) => (float[1,T,6] y) {{
      {literal("b", bytes_of((10, 6), "u1", 1))} {literal("zs", bytes_of((6,), "u1", 2))}
      {literal("ws", np.abs(normal(6)))} {literal("bias", normal(6, seed=3))}
      q, s, z = DynamicQuantizeLinear(x)
      p = MatMulInteger(q, b, z, zs)
      c = Cast <to = 1> (p)
      f = Mul(s, ws)
      m = Mul(c, f)
      a = Add(m, bias)
      y = Relu(a)
    }}"""
    assert [name for name in kernels(text) if name.startswith("matmul")] == ["matmul_bytes_1_False_False"] * 2
    for made, wanted in both(text, *({"x": normal(1, t, 10)} for t in (1, 33, 9))):
        np.testing.assert_allclose(
            made["y"], wanted["y"], 1e-6, 1e-5 * float(np.abs(wanted["y"]).max(initial=1))
        )


@pytest.mark.parametrize("left", ["u1", "i1"])
@pytest.mark.parametrize("right", ["u1", "i1"])
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("shape", [(6, 5, 1, 1), (6, 5, 3, 3), (5, 1, 3, 3)], ids=str)
def test_convolutions_less_zero_points(left: str, right: str, given: bool, shape: tuple[int, ...]) -> None:
    kinds, group = {"u1": "uint8", "i1": "int8"}, 5 // shape[1]
    zero, zeros = np.array(77, left), np.array(120 if right == "u1" else 0, right)
    weights = np.clip(bytes_of(shape, right, 1), *((0, 240) if right == "u1" else (-128, 127))).astype(right)
    constants = literal("w", weights) + literal("zs", zeros) + ("" if given else literal("z", zero))
    text = f"""g ({kinds[left]}[N,5,H,W] x{f", {kinds[left]} z" if given else ""}) => (int32[N,{shape[0]},P,Q] y) {{
      {constants} y = ConvInteger <pads = [1, 0, 1, 1], group = {group}> (x, w, z, zs)
    }}"""
    feeds = [{"x": bytes_of((n, 5, h, w), left)} for n, h, w in ((1, 4, 4), (2, 7, 9))]
    same(text, *(feed | ({"z": zero} if given else {}) for feed in feeds))


@pytest.mark.parametrize("group", [1, 5])
def test_quantized_convolutions_are_rounded_once(group: int) -> None:
    w = bytes_of((5, 5 // group, 3, 3), "i1", 1)
    text = f"""g (uint8[N,5,H,W] x) => (uint8[N,5,P,Q] y) {{
      {literal("w", w)} {literal("ws", np.abs(normal(5)) * np.float32(0.01))} {literal("wz", np.zeros(5, "i1"))}
      {literal("xs", np.float32(0.05))} {literal("xz", np.array(130, "u1"))}
      {literal("ys", np.float32(0.2))} {literal("yz", np.array(101, "u1"))}
      {literal("b", np.array([0, 5000, -70000, 3, 1], "i4"))}
      y = QLinearConv <pads = [1, 1, 1, 1], group = {group}> (x, xs, xz, w, ws, wz, ys, yz, b)
    }}"""
    same(text, *({"x": bytes_of((n, 5, h, h), "u1")} for n, h in ((1, 3), (2, 8))))


@pytest.mark.parametrize("dtype", ["u1", "i1"])
def test_quantized_products_are_rounded_once(dtype: str) -> None:
    kind = {"u1": "uint8", "i1": "int8"}[dtype]
    text = f"""g ({kind}[N,M,9] x) => ({kind}[N,M,5] y) {{
      {literal("w", bytes_of((9, 5), dtype, 1))} {literal("ws", np.abs(normal(5)) * np.float32(0.01))}
      {literal("wz", bytes_of((5,), dtype, 4))} {literal("xs", np.float32(0.05))}
      {literal("xz", np.array(13, dtype))} {literal("ys", np.float32(0.02))}
      {literal("yz", np.array(11, dtype))} y = QLinearMatMul(x, xs, xz, w, ws, wz, ys, yz)
    }}"""
    same(text, *({"x": bytes_of((n, m, 9), dtype)} for n, m in ((1, 1), (3, 20))))


# --- in the place of floats ------------------------------------------------------------------

SCALES = literal("s", np.float32(0.04)) + literal("z", np.array(117, "u1"))


def layer(x: str, y: str, w: Array, bias: bool, group: int = 1) -> str:
    """A convolution of dequantized bytes and weights, quantized."""
    scales = np.abs(normal(len(w), seed=5)) * np.float32(0.02) + np.float32(0.001)
    added = literal(f"{y}b", normal(len(w), seed=6)) if bias else ""
    pad = w.shape[2] // 2
    return f"""{literal(f"{y}w", w)} {literal(f"{y}s", scales)} {added}
      {y}x = DequantizeLinear({x}, s, z)
      {y}v = DequantizeLinear <axis = 0> ({y}w, {y}s)
      {y}c = Conv <pads = [{pad}, {pad}, {pad}, {pad}], group = {group}> ({y}x, {y}v{f", {y}b" if bias else ""})
      {y} = QuantizeLinear({y}c, s, z)
    """


@pytest.mark.usefixtures("fast_bytes")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("relu", [True, False])
def test_layers_between_quantizations_are_done_in_bytes(bias: bool, relu: bool) -> None:
    text = f"""g (uint8[N,6,H,W] x) => (uint8[N,6,H,W] y) {{ {SCALES}
      {layer("x", "a", bytes_of((9, 6, 1, 1), "i1", 1), bias)}
      {layer("a", "b", bytes_of((9, 1, 3, 3), "i1", 2), bias, 9)}
      {layer("b", "y", bytes_of((6, 9, 3, 3), "i1", 3), bias)}
    }}"""
    if relu:
        text = text.replace("b = QuantizeLinear(bc,", "br = Relu(bc)  b = QuantizeLinear(br,")
    found = kernels(text)
    assert not any(name.endswith("f32") or "f32" in name for name in found), f"{found} work on floats"
    close(text, *({"x": bytes_of((n, 6, h, h), "u1")} for n, h in ((1, 1), (2, 9))))


@pytest.mark.usefixtures("fast_bytes")
def test_a_sum_behind_a_layer_is_part_of_it() -> None:
    text = f"""g (uint8[N,8,H,W] x) => (uint8[N,8,H,W] y) {{ {SCALES}
      {layer("x", "a", bytes_of((8, 8, 1, 1), "i1", 1), True)}
      p = DequantizeLinear(x, s, z)
      q = DequantizeLinear(a, s, z)
      t = Add(p, q)
      u = QuantizeLinear(t, s, z)
      {layer("u", "y", bytes_of((8, 8, 1, 1), "i1", 2), True)}
    }}"""
    found = kernels(text)
    assert sum(name.startswith("convolution") for name in found) == 2 and "elementwise" not in found, found
    close(text, *({"x": bytes_of((n, 8, h, h), "u1")} for n, h in ((1, 1), (2, 9))))


@pytest.mark.usefixtures("fast_bytes")
@pytest.mark.parametrize("op", ["Gemm", "MatMul"])
def test_products_between_quantizations_are_done_in_bytes(op: str) -> None:
    shape, how = ((5, 11), "<transB = 1>") if op == "Gemm" else ((11, 5), "")
    bias = ", b" if op == "Gemm" else ""
    text = f"""g (uint8[N,11] x) => (uint8[N,5] y) {{ {SCALES}
      {literal("q", bytes_of(shape, "i1", 1))} {literal("ws", np.abs(normal(5)) * np.float32(0.02))}
      {literal("b", normal(5, seed=2))} {literal("t", np.float32(0.3))}
      f = DequantizeLinear(x, s, z)
      w = DequantizeLinear <axis = {shape.index(5)}> (q, ws)
      c = {op} {how} (f, w{bias})
      y = QuantizeLinear(c, t, z)
    }}"""
    assert any("bytes" in name for name in kernels(text))
    close(text, *({"x": bytes_of((n, 11), "u1")} for n in (0, 1, 40)))


@pytest.mark.parametrize("scale", [0.0, np.inf, np.nan, 1e-38])
def test_scales_that_are_no_ordinary_numbers_are_kept_to_floats(scale: float) -> None:
    w = bytes_of((4, 4, 1, 1), "i1", 1)
    text = f"""g (uint8[1,4,3,3] x, float t) => (uint8[1,4,3,3] y) {{
      {literal("w", w)} {literal("z", np.array(7, "u1"))}
      f = DequantizeLinear(x, t, z)
      one = Constant <value = float {{1}}> ()
      v = DequantizeLinear(w, one)
      c = Conv(f, v)
      y = QuantizeLinear(c, one, z)
    }}"""
    same(text, {"x": bytes_of((1, 4, 3, 3), "u1"), "t": np.array(scale, np.float32)})

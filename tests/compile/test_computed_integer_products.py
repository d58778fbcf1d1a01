"""MatMulInteger of computed operands is native and exact, with zero points in every form, with and without dot products."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import sardonyx as sx
from compile import guarded
from compile.native_agreement import assert_engines_agree
from compile.test_lower_integer_products import kernels
from sardonyx._src.compile.kernels.gemm.integer.int8_packing import pack_int8_tensor
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

DRAW = np.random.default_rng(7)
TYPES = {"uint8": np.uint8, "int8": np.int8}


def integers(dtype: str, *shape: int) -> Array:
    limits = np.iinfo(TYPES[dtype])
    return DRAW.integers(limits.min, limits.max, shape, TYPES[dtype], endpoint=True)


@pytest.mark.parametrize(("left", "right"), [*product(TYPES, TYPES)])
@pytest.mark.parametrize("zeros", ["", ", za", ", , zb", ", za, zb"])
def test_types_and_scalar_zero_points(left: str, right: str, zeros: str) -> None:
    points = "".join(f", {dtype} {name}" for dtype, name in ((left, "za"), (right, "zb")) if name in zeros)
    text = f"g ({left}[M,9] a, {right}[9,N] b{points}) => (int32[M,N] y) {{ y = MatMulInteger(a, b{zeros}) }}"
    feeds = []
    for m, n in ((5, 7), (1, 40), (33, 1), (0, 3), (4, 0)):
        feed = {"a": integers(left, m, 9), "b": integers(right, 9, n)}
        feed |= {
            name: integers(dtype).reshape(())
            for dtype, name in ((left, "za"), (right, "zb"))
            if name in zeros
        }
        feeds.append(feed)
    assert_engines_agree(text, *feeds)


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 70, 1031])
def test_lengths_of_sums(k: int) -> None:
    text = (
        f"g (uint8[6,{k}] a, uint8[{k},20] b, uint8 z) => (int32[6,20] y) {{ y = MatMulInteger(a, b, z, z) }}"
    )
    full: Array = np.full((6, k), 255, np.uint8)
    assert_engines_agree(
        text,
        {"a": integers("uint8", 6, k), "b": integers("uint8", k, 20), "z": np.array(3, np.uint8)},
        {"a": full, "b": np.full((k, 20), 255, np.uint8), "z": np.array(0, np.uint8)},
    )


@pytest.mark.parametrize(
    ("a", "b"), [((2, 3, 5, 8), (2, 3, 8, 6)), ((3, 5, 8), (8, 6)), ((2, 1, 5, 8), (3, 8, 6))]
)
def test_batches(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    dims = [",".join(map(str, shape)) for shape in (a, b)]
    out = ",".join(map(str, (*np.broadcast_shapes(a[:-2], b[:-2]), 5, 6)))
    text = f"g (int8[{dims[0]}] a, uint8[{dims[1]}] b, uint8 z) => (int32[{out}] y) {{ y = MatMulInteger(a, b, , z) }}"
    feeds = {"a": integers("int8", *a), "b": integers("uint8", *b), "z": np.array(100, np.uint8)}
    assert_engines_agree(text, feeds)


@pytest.mark.parametrize(("za", "zb"), [("[5]", "[6]"), ("[5]", ""), ("[2,5,1]", "[2,1,6]"), ("[1]", "[1]")])
def test_zero_points_of_rows_and_columns(za: str, zb: str) -> None:
    text = f"""g (int8[2,5,8] a, uint8[2,8,6] b, int8{za} za, uint8{zb} zb) => (int32[2,5,6] y)
        {{ y = MatMulInteger(a, b, za, zb) }}"""
    shapes = [tuple(map(int, dims[1:-1].split(","))) if dims else () for dims in (za, zb)]
    feeds = {"a": integers("int8", 2, 5, 8), "b": integers("uint8", 2, 8, 6)}
    feeds |= {"za": integers("int8", *shapes[0]), "zb": integers("uint8", *shapes[1])}
    assert_engines_agree(text, feeds)


def test_rows_of_zero_points_with_constant_weights() -> None:
    text = """g (uint8[3,4] a, uint8[3] za) => (int32[3,2] y) <uint8[4,2] b = {1, 2, 3, 4, 5, 6, 7, 255}>
        { y = MatMulInteger(a, b, za) }"""
    assert_engines_agree(text, {"a": integers("uint8", 3, 4), "za": integers("uint8", 3)})


@pytest.mark.parametrize(("left", "right"), [*product(TYPES, TYPES)])
@pytest.mark.parametrize("zeros", ["", ", za", ", , zb", ", za, zb"])
def test_lengths_of_sums_that_a_run_tells(left: str, right: str, zeros: str) -> None:
    """Rows are padded to whole words, whatever their length is."""
    points = "".join(f", {dtype} {name}" for dtype, name in ((left, "za"), (right, "zb")) if name in zeros)
    text = f"""g ({left}[B,M,K] a, {right}[B,K,N] b{points}) => (int32[B,M,N] y)
        {{ y = MatMulInteger(a, b{zeros}) }}"""
    feeds = []
    for m, k, n in (
        (5, 0, 7),
        (3, 1, 40),
        (2, 2, 5),
        (7, 3, 3),
        (4, 4, 20),
        (1, 70, 17),
        (33, 1031, 2),
        (0, 5, 4),
    ):
        feed = {"a": integers(left, 2, m, k), "b": integers(right, 2, k, n)}
        feed |= {
            name: integers(dtype).reshape(())
            for dtype, name in ((left, "za"), (right, "zb"))
            if name in zeros
        }
        feeds.append(feed)
    assert_engines_agree(text, *feeds)


@pytest.mark.parametrize(("left", "right"), [*product(TYPES, TYPES)])
@pytest.mark.parametrize(
    ("za", "zb"), [("", ""), ("", "[40]"), ("[1]", "[1,40]"), ("[M]", ""), ("[M,1]", "[40]")]
)
def test_constant_weights_with_zero_points_of_a_run(left: str, right: str, za: str, zb: str) -> None:
    """The weights are packed once; uint8 ones above 127 are lowered, and others not."""
    b = integers(right, 21, 40)
    for weights in (b, np.minimum(b, 127).astype(b.dtype)):
        elements = ", ".join(map(str, weights.reshape(-1)))
        text = f"""g ({left}[M,21] a, {left}{za} za, {right}{zb} zb) => (int32[M,40] y)
            <{right}[21,40] b = {{{elements}}}> {{ y = MatMulInteger(a, b, za, zb) }}"""
        shapes = {"": (), "[1]": (1,), "[40]": (40,), "[1,40]": (1, 40)}
        feeds = []
        for m in (9, 1, 70):
            left_shape = {"[M]": (m,), "[M,1]": (m, 1)}.get(za) or shapes[za if za in shapes else ""]
            feeds.append(
                {
                    "a": integers(left, m, 21),
                    "za": integers(left, *left_shape).reshape(left_shape),
                    "zb": integers(right, *shapes[zb]).reshape(shapes[zb]),
                }
            )
        assert_engines_agree(text, *feeds)


def test_what_follows_is_fused() -> None:
    """Scales and a bias of a dynamically quantized layer, as if its weights were constant."""
    text = """g (float[M,K] x, int8[K,N] w, float ws, float[N] bias) => (float[M,N] y) {
        q, s, z = DynamicQuantizeLinear(x)  p = MatMulInteger(q, w, z)  f = Cast <to = 1> (p)
        t = Mul(s, ws)  m = Mul(f, t)  a = Add(m, bias)  y = Relu(a) }"""
    assert kernels(text)[-1] == "matmul_bytes_False_False"
    feeds = {
        "x": DRAW.normal(size=(5, 9)).astype(np.float32),
        "w": integers("int8", 9, 70),
        "ws": np.array(0.01, np.float32),
        "bias": DRAW.normal(size=70).astype(np.float32),
    }
    assert_engines_agree(text, feeds)


def test_a_transposed_operand() -> None:
    text = """g (uint8[2,5,8] q, uint8[2,6,8] k, uint8 z) => (int32[2,5,6] y)
        { t = Transpose <perm = [0, 2, 1]> (k)  y = MatMulInteger(q, t, z, z) }"""
    feeds = {"q": integers("uint8", 2, 5, 8), "k": integers("uint8", 2, 6, 8), "z": np.array(9, np.uint8)}
    assert_engines_agree(text, feeds)


@pytest.mark.parametrize("lanes", [16, 8, 4, 1])
@pytest.mark.parametrize("dtype", [*TYPES])
@pytest.mark.parametrize(("k", "n"), [(4, 16), (7, 33), (1, 5), (18, 70)])
def test_packing_stays_in_bounds(k: int, n: int, dtype: str, lanes: int) -> None:
    b = integers(dtype, 2, k, n)
    target = replace(host_target(), lanes=lanes)
    view, buffer = guarded.tensor(b)
    operand = pack_int8_tensor(view, target)
    dims = [int(dim) for dim in operand.panels.tensor.shape if isinstance(dim, int)]
    sums, packed = np.zeros((2, 1, n), np.int32), np.zeros(dims, np.int32)
    kernel = operand.step.kernel
    step = replace(
        operand.step,
        kernel=replace(
            kernel, key=f"{kernel.key}:{lanes}", source=lambda name, _: kernel.source(name, target)
        ),
    )
    arrays = {buffer: b, operand.sums.buffer: sums, operand.panels.tensor.buffer: packed}
    guarded.run(step, arrays)
    shift = 128 if dtype == "uint8" else 0
    np.testing.assert_array_equal(sums, (b.astype(np.int32) - shift).sum(1, keepdims=True))


@pytest.mark.parametrize("result", TYPES)
@pytest.mark.parametrize("shape", ["B,H,M,K", "M,K"])
def test_requantized_products_of_open_sizes(result: str, shape: str) -> None:
    other = shape.replace("M,K", "K,N")
    text = f"""g (uint8[{shape}] a, int8[{other}] b) => ({result}[{shape.replace("K", "N")}] y)
        <float sa = {{0.02}}, uint8 za = {{120}}, float sb = {{0.03}}, int8 zb = {{-3}}, float sy = {{0.3}}, {result} zy = {{9}}>
        {{ y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy) }}"""
    batch = (2, 3) if "B" in shape else ()
    assert_engines_agree(
        text,
        *(
            {"a": integers("uint8", *batch, m, k), "b": integers("int8", *batch, k, n)}
            for m, k, n in ((7, 5, 70), (1, 64, 64), (13, 66, 32), (2, 0, 3))
        ),
    )


def test_longer_sums_than_int32_holds_are_computed_exactly() -> None:
    """The guard refuses them; the reference engine computes the run."""
    text = """g (uint8[M,K] a, uint8[K,N] b) => (uint8[M,N] y)
        <float s = {1}, uint8 z = {0}, float sy = {20000000}> { y = QLinearMatMul(a, s, z, b, s, z, sy, z) }"""
    model = sx.from_text(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    session = sx.Session(model)
    for k in (9, 40_000):
        full = np.full((1, k), 255, np.uint8)
        (y,) = session.run({"a": full, "b": full.T.copy()}).values()
        assert y.item() == round(255 * 255 * k / 2e7)
    assert session.stats.bailouts


@pytest.mark.parametrize(("left", "right", "result"), [*product(TYPES, TYPES, TYPES)])
def test_requantized_products(left: str, right: str, result: str) -> None:
    text = f"""g ({left}[2,N,8] a, {right}[2,8,6] b) => ({result}[2,N,6] y)
        <float sa = {{0.02}}, {left} za = {{3}}, float[1] sb = {{0.5}}, {right} zb = {{5}}, float sy = {{1.7}}, {result} zy = {{9}}>
        {{ y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy) }}"""
    feeds = [{"a": integers(left, 2, n, 8), "b": integers(right, 2, 8, 6)} for n in (5, 1, 40)]
    assert_engines_agree(text, *feeds)


def test_requantized_products_with_computed_zero_points() -> None:
    text = """g (uint8[5,8] a, uint8[8,6] b, uint8 z) => (uint8[5,6] y)
        <float sa = {0.02}, float sb = {0.5}, float sy = {1.7}> { y = QLinearMatMul(a, sa, z, b, sb, z, sy, z) }"""
    feeds = {"a": integers("uint8", 5, 8), "b": integers("uint8", 8, 6), "z": np.array(130, np.uint8)}
    assert_engines_agree(text, feeds)


@pytest.mark.parametrize("scale", ["float", "float16", "bfloat16"])
@pytest.mark.parametrize("dtype", TYPES)
def test_requantized_products_with_scales_of_a_run(dtype: str, scale: str) -> None:
    """Scales of 0, infinity and NaN, too, which make NaN of some sums: it becomes the lowest number."""
    text = f"""g ({dtype}[2,N,8] a, {scale}[1] sa, {dtype}[1] za, {dtype}[2,8,6] b, {scale} sb, {dtype} zb, {scale} sy, {dtype} zy)
        => ({dtype}[2,N,6] y) {{ y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy) }}"""
    number = DataType.parse(scale).numpy
    feeds = []
    for n, sa, sb, sy in (
        (5, 0.02, 0.5, 1.7),
        (1, 0, 1, 0),
        (17, np.inf, 1, 1),
        (3, 0, np.inf, 1),
        (2, 1, 1, np.nan),
    ):
        feeds.append(
            {
                "a": integers(dtype, 2, n, 8),
                "sa": np.array([sa], np.float32).astype(number),
                "za": integers(dtype, 1),
                "b": integers(dtype, 2, 8, 6),
                "sb": np.array(sb, np.float32).astype(number),
                "zb": integers(dtype, 1).reshape(()),
                "sy": np.array(sy, np.float32).astype(number),
                "zy": integers(dtype, 1).reshape(()),
            }
        )
    assert_engines_agree(text, *feeds)


def test_requantized_products_of_constant_weights_with_scales_of_a_run() -> None:
    text = """g (uint8[M,2] a, float s, uint8 z) => (uint8[M,3] y) <uint8[2,3] b = {1, 2, 3, 4, 5, 255}, uint8 zb = {7}>
        { y = QLinearMatMul(a, s, z, b, s, zb, s, z) }"""
    a = integers("uint8", 5, 2)
    assert_engines_agree(text, {"a": a, "s": np.array(0.3, np.float32), "z": np.array(130, np.uint8)})


def test_unusual_constant_scales() -> None:
    text = """g (uint8[5,8] a, uint8[8,6] b) => (uint8[5,6] y)
        <float s = {0.02}, float sy = {0}, uint8 z = {1}> { y = QLinearMatMul(a, s, z, b, s, z, sy, z) }"""
    feeds = {"a": integers("uint8", 5, 8), "b": integers("uint8", 8, 6)}
    assert_engines_agree(text, feeds)

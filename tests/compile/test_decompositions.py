"""Operators without kernels of their own that run natively as others, beside the reference kernel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import sardonyx as sx
from compile.native_agreement import assert_engines_agree, open_dims
from models import parse_model
from sardonyx._src.ir import Array

F = np.float32
DRAW = np.random.default_rng(2)
ROWS = DRAW.standard_normal((3, 4, 5)).astype(F)
SPECIAL = np.array(
    [[0, 0, 0], [np.inf, 1, 2], [np.nan, 1, 3], [3e38, -3e38, 1e38], [1e-30, 2e-30, 0], [2, 2, 1]], F
)


def assert_native(text: str, feeds: Mapping[str, Array], opset: int = 24) -> None:
    model = parse_model(text, opset=opset)
    native, reference = (sx.Session(model, engine=engine, threads=1) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    expected = reference.run(feeds)
    for name, actual in native.run(feeds).items():
        np.testing.assert_allclose(actual, expected[name], rtol=2e-6, atol=1e-6)
    assert not native.stats.bailouts


@pytest.mark.parametrize("attributes", ["", "<axis = 0>", "<axis = 1, p = 1>", "<axis = -2, p = 2>"])
@pytest.mark.parametrize("dims", ["3,4,5", "A,B,C"])
def test_lp_normalization(attributes: str, dims: str) -> None:
    text = f"g (float[{dims}] x) => (float[{dims}] y) {{ y = LpNormalization {attributes} (x) }}"
    if "C" in dims:
        assert_native(text, {"x": ROWS})
    assert_native(text.replace("A,B,C", "3,4,5"), {"x": ROWS})


@pytest.mark.parametrize("p", [1, 2])
def test_lp_normalization_of_extreme_rows(p: int) -> None:
    text = f"g (float[6,3] x) => (float[6,3] y) {{ y = LpNormalization <p = {p}> (x) }}"
    assert_native(text, {"x": SPECIAL})


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("n", [1, 7, 16, 100, 1000])
@pytest.mark.parametrize("scale", [1e-44, 1e-38, 1e-20, 1.0, 1e20, 3e37])
def test_lp_normalization_of_rows_of_any_scale(n: int, p: int, scale: float) -> None:
    x = (DRAW.uniform(-1, 1, (9, n)) * scale).astype(F)
    x[3] = 0
    text = f"g (float[A,{n}] x) => (float[A,{n}] y) {{ y = LpNormalization <p = {p}> (x) }}"
    session = sx.Session(parse_model(text, opset=24), engine="native")
    assert session.stats.fallback_nodes == 0
    wide = x.astype(np.float64)
    norm = np.linalg.norm(wide, ord=p, axis=1, keepdims=True)
    expected = wide / np.where(norm == 0, 1, norm)
    np.testing.assert_allclose(session.run({"x": x})["y"], expected, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("attributes", ["", "<axis = 0>", "<axis = -2>"])
def test_hardmax(attributes: str) -> None:
    assert_native(f"g (float[3,4,5] x) => (float[3,4,5] y) {{ y = Hardmax {attributes} (x) }}", {"x": ROWS})


def test_hardmax_of_open_batches() -> None:
    assert_native("g (float[A,B,5] x) => (float[A,B,5] y) { y = Hardmax(x) }", {"x": ROWS})


def test_hardmax_of_extreme_rows() -> None:
    assert_native("g (float[6,3] x) => (float[6,3] y) { y = Hardmax(x) }", {"x": SPECIAL})


def test_shrink() -> None:
    text = "g (float[N,3] x) => (float[N,3] y) { a = Relu(x) b = Shrink <lambd = 0.5, bias = 0.25> (a) y = Neg(b) }"
    assert_native(text, {"x": SPECIAL})


def test_losses() -> None:
    labels = np.array([[1, 0, 4, 2], [3, 3, 0, 1]])
    scores = DRAW.standard_normal((2, 5, 4)).astype(F)
    text = """g (float[N,5,D] x, int64[N,D] t) => (float y, float[N,5,D] p)
        { y, p = SoftmaxCrossEntropyLoss <reduction = "mean"> (x, t) }"""
    assert_native(text, {"x": scores, "t": labels})
    text = "g (float[N,5,D] x, int64[N,D] t) => (float y) { y = NegativeLogLikelihoodLoss <ignore_index = 3> (x, t) }"
    assert_native(text, {"x": scores, "t": labels})


def test_center_crop_pad() -> None:
    text = """g (float[3,4,5] x) => (float[6,2,5] y) <int64[2] size = {6, 2}> { y = CenterCropPad <axes = [0, 1]> (x, size) }"""
    assert_native(text, {"x": ROWS})


def test_affine_grids_are_sampled() -> None:
    text = """g (float[1,2,5,6] x, float[1,2,3] a) => (float[1,2,4,4] y) <int64[4] size = {1, 2, 4, 4}>
        { grid = AffineGrid(a, size)  y = GridSample(x, grid) }"""
    affine = np.array([[[0.8, 0.1, 0.1], [-0.2, 0.9, 0]]], F)
    assert_native(text, {"x": DRAW.standard_normal((1, 2, 5, 6)).astype(F), "a": affine})


def test_windows_are_constants() -> None:
    text = "g (float[N,8] x) => (float[N,8] y) <int64 n = {8}> { w = HannWindow(n)  y = Mul(x, w) }"
    assert_native(text, {"x": np.ones((2, 8), F)})


@pytest.mark.parametrize(
    "attributes", ["", "k = 2", "k = -1, dtype = 7", "k = 9223372036854775807", "dtype = 9", "dtype = 10"]
)
@pytest.mark.parametrize("dims", ["3,5", "N,M"])
def test_eye_like(dims: str, attributes: str) -> None:
    to = {"dtype = 9": "bool", "dtype = 10": "float16"}.get(
        attributes, "int64" if "7" in attributes and "dtype" in attributes else "float"
    )
    text = f"g (float[{dims}] x) => ({to}[{dims}] y) {{ y = EyeLike <{attributes}> (x) }}".replace("<> ", "")
    assert_engines_agree(text, {"x": np.zeros((3, 5), F)}, opset=24)


@pytest.mark.parametrize("dims", [("K", "K"), ("K", "K,5"), ("K", "2,K,5"), ("3,K", "K"), ("2,3,K", "K"), ("B,N,K", "K"), ("K", "B,K,M")])  # fmt: skip
@pytest.mark.parametrize("tail", ["y = Identity(p)", "s = Add(p, one)  y = Relu(s)", "y = Mul(p, p)"])
def test_products_of_vectors(dims: tuple[str, str], tail: str) -> None:
    for k in (0, 1, 16, 17):
        sizes = {"K": k, "B": 2, "N": 4, "M": 3}
        shapes = [[sizes[d] if d in sizes else int(d) for d in each.split(",")] for each in dims]
        text = f"g (float[{dims[0]}] a, float[{dims[1]}] b) => (float y) <float one = {{1}}> {{ p = MatMul(a, b)  {tail} }}"
        a, b = (DRAW.integers(-3, 4, shape).astype(F) for shape in shapes)  # sums are exact in any order
        dims_of_y = open_dims((a @ b).ndim)
        assert_engines_agree(text.replace("(float y)", f"(float{dims_of_y} y)"), {"a": a, "b": b}, opset=24)


@pytest.mark.parametrize("dims", ["16", "N,16"])
def test_products_of_vectors_and_constants(dims: str) -> None:
    a = ROWS.reshape(-1)[:16] if dims == "16" else ROWS.reshape(-1)[:48].reshape(3, 16)
    matrix, row = (", ".join(str(n % 5 - 2) for n in range(count)) for count in (48, 16))
    text = f"g (float[{dims}] a) => (float{open_dims(a.ndim)} y) <float[16,3] w = {{{matrix}}}, float[3] c = {{1, 2, 3}}> {{ p = MatMul(a, w)  y = Add(p, c) }}"
    assert_engines_agree(text, {"a": a})
    text = f"g (float[{dims}] a) => (float{open_dims(a.ndim - 1)} y) <float[16] w = {{{row}}}> {{ y = MatMul(a, w) }}"
    assert_engines_agree(text, {"a": a})


BLOCKED = "g ({0}[{1}] x, float[{2}] s{3}) => (float[{1}] y) {{ y = DequantizeLinear <axis = {4}, block_size = {5}> (x, s{6}) }}"


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
@pytest.mark.parametrize("has_zero", [False, True])
@pytest.mark.parametrize(("dims", "axis", "size"), [("M,12", 1, 4), ("8,M", -2, 8), ("2,6,M,3", 1, 2)])
def test_blocked_dequantization(dims: str, axis: int, size: int, has_zero: bool, dtype: str) -> None:
    shape = [int(dim.replace("M", "5")) for dim in dims.split(",")]
    blocks = dims.split(",")
    blocks[axis] = str(shape[axis] // size)
    shape_of_blocks = [int(dim.replace("M", "5")) for dim in blocks]
    limits = np.iinfo(np.dtype(dtype))
    feeds = {
        "x": DRAW.integers(limits.min, limits.max, shape).astype(dtype),
        "s": DRAW.standard_normal(shape_of_blocks).astype(F),
    }
    if has_zero:
        feeds["z"] = DRAW.integers(limits.min, limits.max, shape_of_blocks).astype(dtype)
    zero = f", {dtype}[{','.join(blocks)}] z" if has_zero else ""
    text = BLOCKED.format(dtype, dims, ",".join(blocks), zero, axis, size, ", z" if has_zero else "")
    assert_native(text, feeds)

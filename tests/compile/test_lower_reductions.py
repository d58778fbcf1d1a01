"""Reductions, searches and normalisations become native steps, in whatever form their operands are."""

from __future__ import annotations

import numpy as np
import pytest

from compile.lowered import normal, runs

CONV = "w = Constant <value = float[2,2,1,1] {1, 2, 3, -4}> ()  c = Conv(x, w)"
SIZES = [(1, 2, 1, 1), (2, 2, 5, 7), (3, 2, 1, 17)]
KINDS = "Sum Mean Prod Max Min L1 L2 SumSquare LogSum LogSumExp".split()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axes", [[0], [-1], [1, 3], [0, 1, 2]], ids=str)
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions_along_any_axes(kind: str, axes: list[int], keepdims: int) -> None:
    listed, rank = ", ".join(map(str, axes)), 4 if keepdims else 4 - len(axes)
    dims = ",".join(f"D{i}" for i in range(rank))
    text = f"""g (float[A,B,C,D] x) => (float[{dims}] y) {{
      axes = Constant <value = int64[{len(axes)}] {{{listed}}}> ()
      y = Reduce{kind} <keepdims = {keepdims}> (x, axes)
    }}"""
    feeds = [{"x": np.abs(normal(*shape)) + 0.5} for shape in ((2, 3, 5, 7), (1, 1, 1, 1), (3, 2, 4, 33))]
    runs(text, *feeds)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keepdims", [0, 1])
def test_pixels_of_a_convolution_are_reduced_where_they_are(kind: str, keepdims: int) -> None:
    text = f"""g (float[N,2,H,W] x) => (float[{"N,2,1,1" if keepdims else "N,2"}] y) {{
      {CONV}
      axes = Constant <value = int64[2] {{2, 3}}> ()
      a = Abs(c)
      y = Reduce{kind} <keepdims = {keepdims}> (a, axes)
    }}"""
    runs(text, *({"x": normal(*shape)} for shape in SIZES))


@pytest.mark.parametrize("dtype", ["double", "int32", "int64"])
@pytest.mark.parametrize("kind", ["Sum", "Max", "Min", "Prod", "SumSquare"])
def test_reductions_of_other_types(kind: str, dtype: str) -> None:
    text = f"""g ({dtype}[A,B] x) => ({dtype}[A] y) {{
      axes = Constant <value = int64[1] {{1}}> ()
      y = Reduce{kind} <keepdims = 0> (x, axes)
    }}"""
    x = np.random.default_rng(0).integers(-9, 9, (4, 6)).astype({"double": "f8"}.get(dtype, dtype))
    runs(text, {"x": x})


@pytest.mark.parametrize("size", [0, 1, 5])
def test_what_follows_a_reduction_goes_along(size: int) -> None:
    text = """g (float[A,B] x) => (float[A,1] y) {
      axes = Constant <value = int64[1] {-1}> ()
      half = Constant <value = float {0.5}> ()
      m = ReduceMean(x, axes)
      s = Add(m, half)
      y = Exp(s)
    }"""
    x = normal(3, size)
    (found,) = runs(text, {"x": x})
    with np.errstate(all="ignore"):
        wanted = np.exp(x.astype(np.float64).sum(1, keepdims=True) / np.float64(size) + 0.5)
    np.testing.assert_allclose(found, wanted, 1e-6)


def test_nan_is_the_greatest_and_the_least() -> None:
    text = """g (float[A,B] x) => (float[A] y) {
      axes = Constant <value = int64[1] {1}> ()
      a = ReduceMax <keepdims = 0> (x, axes)
      b = ReduceMin <keepdims = 0> (x, axes)
      y = Sub(a, b)
    }"""
    x = normal(3, 40)
    x[1, 7] = np.nan
    (found,) = runs(text, {"x": x})
    assert np.isnan(found).tolist() == [False, True, False]


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("last", [0, 1])
def test_places_of_extremes(operator: str, axis: int, last: int) -> None:
    kept = ["A", "5", "7"]
    del kept[axis]
    text = f"""g (float[{"4" if axis == 0 else "A"},5,7] x) => (int64[{",".join(kept)}] y) {{
      y = {operator} <axis = {axis}, keepdims = 0, select_last_index = {last}> (x)
    }}"""
    x = np.random.default_rng(0).integers(0, 3, (4, 5, 7)).astype(np.float32)
    runs(text, {"x": x})


@pytest.mark.parametrize("before", ["c = Identity(x)", CONV], ids=["plain", "channels-last"])
@pytest.mark.parametrize("groups", [0, 1, 2])
def test_groups_of_channels_are_normalised(before: str, groups: int) -> None:
    operator = f"GroupNormalization <num_groups = {groups}>" if groups else "InstanceNormalization"
    text = f"""g (float[N,2,H,W] x) => (float[N,2,H,W] y) {{
      {before}
      scale = Constant <value = float[2] {{1.5, -2}}> ()
      bias = Constant <value = float[2] {{0.25, 3}}> ()
      n = {operator} (c, scale, bias)
      y = Relu(n)
    }}"""
    runs(text, *({"x": normal(*shape)} for shape in SIZES))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_elements_are_scaled_beside_their_neighbours(size: int) -> None:
    text = f"""g (float[N,7,H,W] x) => (float[N,7,H,W] y) {{
      n = LRN <size = {size}, alpha = 0.5, beta = 0.6, bias = 1.5> (x)
      y = Relu(n)
    }}"""
    runs(text, {"x": normal(2, 7, 3, 5)}, {"x": normal(1, 7, 1, 1)})

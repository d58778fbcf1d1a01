"""OneHot of floats, TopK and running sums of unsigned integers, and MaxUnpool with an output shape, as native kernels."""

from __future__ import annotations

import numpy as np
import pytest

from compile.native_agreement import assert_engines_agree


@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot_of_floats(dtype: str, axis: int) -> None:
    shape = {-1: "N,M,5", 0: "5,N,M", 1: "N,5,M"}[axis]
    text = f"g ({dtype}[N,M] x) => (float[{shape}] y) <int64 d = {{5}}, float[2] v = {{2, 7}}> {{ y = OneHot <axis = {axis}> (x, d, v) }}"
    x = np.array([[0, 1.9, -1.9, 4.99], [5, -5, -6, 0.5], [np.nan, np.inf, -np.inf, 1e30]])
    x = x.astype("f4" if dtype == "float" else "f8")
    assert_engines_agree(text, {"x": x}, {"x": x[:0]})


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_top_k_of_unsigned_integers(dtype: str, largest: int, axis: int) -> None:
    text = f"g ({dtype}[N,M] x) => ({dtype}[A,B] y, int64[A,B] i) <int64[1] k = {{3}}> {{ y, i = TopK <axis = {axis}, largest = {largest}> (x, k) }}"
    draw, most = np.random.default_rng(0), np.iinfo(dtype).max
    x = draw.choice(np.array([0, 1, most, most - 1, most // 2, most // 2 + 1, 5], dtype), (17, 33))
    assert_engines_agree(text, {"x": x}, {"x": x[:3, :3]})


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "int32", "double"])
@pytest.mark.parametrize("operator", ["CumSum", "CumProd"])
@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_of_any_type(dtype: str, operator: str, axis: int) -> None:
    text = f"g ({dtype}[N,M] x) => ({dtype}[N,M] y) <int64 axis = {{{axis}}}> {{ y = {operator} <reverse = 1> (x, axis) }}"
    x = np.random.default_rng(1).integers(0, 2**31, (5, 17)).astype("f8" if dtype == "double" else dtype)
    assert_engines_agree(text, {"x": x / 2**31 if dtype == "double" else x}, {"x": x[:0]})


@pytest.mark.parametrize("shape", [(4, 4), (5, 6), (3, 4), (3, 9)])
def test_unpooling_into_an_output_shape(shape: tuple[int, int]) -> None:
    dims = f"{{1, 2, {shape[0]}, {shape[1]}}}"
    text = f"""g (float[1,2,2,2] x, int64[1,2,2,2] i) => (float[1,2,H,W] y) <int64[4] s = {dims}> {{
        y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s) }}"""
    places = np.array([0, 2, 5, 7, 13, 16, 20, 23]).reshape(1, 2, 2, 2)
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 2, 2, 2)
    assert_engines_agree(text, {"x": x, "i": places})

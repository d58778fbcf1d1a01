"""Lowering of reductions, arg reductions and normalizations: native steps for dense and channels-last operands."""

from __future__ import annotations

import numpy as np
import pytest

from compile.reference_comparison import assert_matches_reference, normal

CONV = "w = Constant <value = float[2,2,1,1] {1, 2, 3, -4}> ()  c = Conv(x, w)"
SIZES = [(1, 2, 1, 1), (2, 2, 5, 7), (3, 2, 1, 17)]
OPERATORS = "Sum Mean Prod Max Min L1 L2 SumSquare LogSum LogSumExp".split()


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("axes", [[0], [-1], [1, 3], [0, 1, 2]], ids=str)
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions_along_any_axes(operator: str, axes: list[int], keepdims: int) -> None:
    axes_text, rank = ", ".join(map(str, axes)), 4 if keepdims else 4 - len(axes)
    dims = ",".join(f"D{i}" for i in range(rank))
    text = f"""g (float[A,B,C,D] x) => (float[{dims}] y) {{
      axes = Constant <value = int64[{len(axes)}] {{{axes_text}}}> ()
      y = Reduce{operator} <keepdims = {keepdims}> (x, axes)
    }}"""
    feeds = [{"x": np.abs(normal(*shape)) + 0.5} for shape in ((2, 3, 5, 7), (1, 1, 1, 1), (3, 2, 4, 33))]
    assert_matches_reference(text, *feeds)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reduction_of_channels_last_pixels(operator: str, keepdims: int) -> None:
    text = f"""g (float[N,2,H,W] x) => (float[{"N,2,1,1" if keepdims else "N,2"}] y) {{
      {CONV}
      axes = Constant <value = int64[2] {{2, 3}}> ()
      a = Abs(c)
      y = Reduce{operator} <keepdims = {keepdims}> (a, axes)
    }}"""
    assert_matches_reference(text, *({"x": normal(*shape)} for shape in SIZES))


@pytest.mark.parametrize("dtype", ["double", "int32", "int64"])
@pytest.mark.parametrize("operator", ["Sum", "Max", "Min", "Prod", "SumSquare"])
def test_integer_and_double_reductions(operator: str, dtype: str) -> None:
    text = f"""g ({dtype}[A,B] x) => ({dtype}[A] y) {{
      axes = Constant <value = int64[1] {{1}}> ()
      y = Reduce{operator} <keepdims = 0> (x, axes)
    }}"""
    x = np.random.default_rng(0).integers(-9, 9, (4, 6)).astype({"double": "f8"}.get(dtype, dtype))
    assert_matches_reference(text, {"x": x})


@pytest.mark.parametrize("size", [0, 1, 5])
def test_elementwise_consumers_are_fused_as_epilogue(size: int) -> None:
    text = """g (float[A,B] x) => (float[A,1] y) {
      axes = Constant <value = int64[1] {-1}> ()
      half = Constant <value = float {0.5}> ()
      m = ReduceMean(x, axes)
      s = Add(m, half)
      y = Exp(s)
    }"""
    x = normal(3, size)
    (result,) = assert_matches_reference(text, {"x": x})
    with np.errstate(all="ignore"):
        reference = np.exp(x.astype(np.float64).sum(1, keepdims=True) / np.float64(size) + 0.5)
    np.testing.assert_allclose(result, reference, 1e-6)


def test_nan_propagates_through_max_and_min() -> None:
    text = """g (float[A,B] x) => (float[A] y) {
      axes = Constant <value = int64[1] {1}> ()
      a = ReduceMax <keepdims = 0> (x, axes)
      b = ReduceMin <keepdims = 0> (x, axes)
      y = Sub(a, b)
    }"""
    x = normal(3, 40)
    x[1, 7] = np.nan
    (result,) = assert_matches_reference(text, {"x": x})
    assert np.isnan(result).tolist() == [False, True, False]


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("last", [0, 1])
def test_arg_max_and_arg_min(operator: str, axis: int, last: int) -> None:
    y_dims = ["A", "5", "7"]
    del y_dims[axis]
    text = f"""g (float[{"4" if axis == 0 else "A"},5,7] x) => (int64[{",".join(y_dims)}] y) {{
      y = {operator} <axis = {axis}, keepdims = 0, select_last_index = {last}> (x)
    }}"""
    x = np.random.default_rng(0).integers(0, 3, (4, 5, 7)).astype(np.float32)
    assert_matches_reference(text, {"x": x})


@pytest.mark.parametrize("producer", ["c = Identity(x)", CONV], ids=["plain", "channels-last"])
@pytest.mark.parametrize("groups", [0, 1, 2])
def test_group_and_instance_normalization(producer: str, groups: int) -> None:
    operator = f"GroupNormalization <num_groups = {groups}>" if groups else "InstanceNormalization"
    text = f"""g (float[N,2,H,W] x) => (float[N,2,H,W] y) {{
      {producer}
      scale = Constant <value = float[2] {{1.5, -2}}> ()
      bias = Constant <value = float[2] {{0.25, 3}}> ()
      n = {operator} (c, scale, bias)
      y = Relu(n)
    }}"""
    assert_matches_reference(text, *({"x": normal(*shape)} for shape in SIZES))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_lrn(size: int) -> None:
    text = f"""g (float[N,7,H,W] x) => (float[N,7,H,W] y) {{
      n = LRN <size = {size}, alpha = 0.5, beta = 0.6, bias = 1.5> (x)
      y = Relu(n)
    }}"""
    assert_matches_reference(text, {"x": normal(2, 7, 3, 5)}, {"x": normal(1, 7, 1, 1)})

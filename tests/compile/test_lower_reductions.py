"""Lowering of reductions, arg reductions and normalizations: native steps for dense and channels-last operands."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.native_agreement import assert_engines_agree
from compile.reference_comparison import assert_matches_reference, normal
from models import parse_model

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


SMALL_TYPES = {"int8": "i1", "uint8": "u1", "uint32": "u4", "uint64": "u8", "bool": "?"}


@pytest.mark.parametrize("dtype", SMALL_TYPES)
@pytest.mark.parametrize("operator", ["Max", "Min", "Sum", "Prod"])
@pytest.mark.parametrize("axis", [0, 1])
def test_reductions_of_small_and_unsigned_types(operator: str, dtype: str, axis: int) -> None:
    if operator in ("Sum", "Prod") and dtype in ("int8", "uint8", "bool"):
        return  # the specification does not have them
    text = f"""g ({dtype}[A,B] x) => ({dtype}[C] y) {{
      axes = Constant <value = int64[1] {{{axis}}}> ()
      y = Reduce{operator} <keepdims = 0> (x, axes)
    }}"""
    draw = np.random.default_rng(0)
    shapes = [(4, 6), (3, 1), (1, 100), (33, 17), (0, 3), (3, 0)]
    arrays = [
        draw.integers(0, 256, (*shape, 8), np.uint8).view("u8")[..., 0].astype(SMALL_TYPES[dtype])
        for shape in shapes
    ]
    assert_matches_reference(
        text, *({"x": x} for x in [*arrays, np.zeros_like(arrays[0]), np.ones_like(arrays[0])])
    )


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("axes", ["", "int64[0] a"])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions_along_no_axes(operator: str, axes: str, keepdims: int) -> None:
    constant, operand = (f"<{axes} = {{}}>", ", a") if axes else ("", "")
    attributes = f"<keepdims = {keepdims}, noop_with_empty_axes = 1>"
    text = (
        f"g (float[A,B] x) => (float[A,B] y) {constant} {{ y = Reduce{operator} {attributes} (x{operand}) }}"
    )
    special = np.array([[np.nan, np.inf, -np.inf, 0.0, -0.0, 2.0]], np.float32)
    results = assert_matches_reference(text, *({"x": x} for x in (normal(3, 5), normal(0, 2), special)))
    assert results[2].shape == special.shape


@pytest.mark.parametrize("operator", ["LogSum", "LogSumExp", "L1", "L2", "Mean"])
@pytest.mark.parametrize("shape", [(3, 5), (4, 100), (2, 0), (17, 1)])
@pytest.mark.parametrize("axis", [0, 1])
def test_logarithms_of_sums_of_float64(operator: str, shape: tuple[int, ...], axis: int) -> None:
    text = f"g (double[A,B] x) => (double[C] y) <int64[1] a = {{{axis}}}> {{ y = Reduce{operator} <keepdims = 0> (x, a) }}"
    x = np.abs(np.random.default_rng(1).normal(size=shape)) * 300
    feeds = [{"x": x}]
    if operator == "LogSumExp":
        inf, nan = np.inf, np.nan
        feeds += [{"x": np.array([[inf, 1], [-inf, -inf], [nan, 1], [800, 801], [-800, -900]])}]
    assert_matches_reference(text, *feeds)


def test_statistics_of_layer_normalization() -> None:
    text = """g (float[A,B,6] x, float[6] s, float[6] b) => (float[A,B,6] z, float[A,B,1] m, float[A,B,1] i) {
        y, m, i = LayerNormalization(x, s, b)  z = Relu(y) }"""
    x, scale = normal(2, 5, 6), normal(6)
    assert_engines_agree(
        text, {"x": x, "s": scale, "b": scale}, {"x": x[:0], "s": scale, "b": scale}, opset=24
    )
    for outputs in ("y, m", "y, , i", "y, m, i"):
        names = [f"float[A,1,1] {name}" for name in "mi" if name in outputs]
        text = f"""g (float[A,5,6] x, float[5,6] s) => (float[A,5,6] y, {", ".join(names)}) {{
            {outputs} = LayerNormalization <axis = 1, epsilon = 0.1> (x, s) }}"""
        assert_engines_agree(text, {"x": x, "s": normal(5, 6)}, opset=24)
    text = "g (float16[A,6] x, float16[6] s) => (float16[A,6] y, float[A,1] m) { y, m = LayerNormalization(x, s) }"
    feeds = {"x": x[0].astype("f2"), "s": scale.astype("f2")}
    native, reference = (
        sx.Session(parse_model(text, opset=24), engine=name) for name in ("native", "reference")
    )
    assert native.stats.fallback_nodes == 0
    expected = reference.run(feeds)
    for name, result in native.run(feeds).items():
        np.testing.assert_allclose(result, expected[name], rtol=2e-3)


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

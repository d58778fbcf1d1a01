"""Rows of quantized results: rounding to nearest even, saturation and zero points, whatever the width of the tile."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sardonyx as sx
from compile import guarded
from compile.test_integer_matmul import compile_for, draw, make_targets, pad_to_int8x4
from models import parse_model
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number, Scalar
from sardonyx._src.compile.kernels.elementwise.quantization import QUANTIZED_RANGES
from sardonyx._src.compile.kernels.gemm.integer.integer_matmul import integer_matmul_steps
from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import pack_int8_constant
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import Approximation, IntegerEpilogue
from sardonyx._src.compile.kernels.gemm.tile.quantized_rows import match_quantized_result
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

ROWS, TERMS = 11, 4  # a full register tile, and rows that are left
WIDTHS = (
    8, 16, 32, 48, 64, 70,
)  # one vector of 8 lanes, one to four of 16, and one that is not full  # fmt: skip
DTYPES = {"u1": DataType.UINT8, "i1": DataType.INT8}
SHORT_CHAIN, LONG_CHAIN = 0, 9  # operations more than an epilogue that is emitted for each vector may have


def quantized_epilogue(
    dtype: DataType, *, has_zero_point: bool, bounded: bool, chain: int
) -> IntegerEpilogue:
    """saturate(round(x * o0 + o1) [+ o2]), and maxima that change nothing."""
    value: Scalar = Apply("fma", (Cast(DataType.FLOAT, Local("x")), Local("o0"), Local("o1")))
    for limit in range(chain):
        value = Apply("max", (value, Number(-1e30 - limit * 1e29)))
    value = Apply("round", (value,))
    if has_zero_point:
        value = Apply("add", (value, Cast(DataType.FLOAT, Local("o2"))))
    low, high = QUANTIZED_RANGES[dtype]
    result = Cast(dtype, Apply("clamp", (value, Number(low), Number(high))))
    types = (DataType.FLOAT, DataType.FLOAT, dtype)
    return IntegerEpilogue(result, ("column", "column", "scalar"), types, dtype, (), bounded)


def run_product(
    a: Array, w: Array, columns: tuple[Array, Array], zero: Array, epilogue: IntegerEpilogue, target: Target
) -> Array:
    packed, memory = pad_to_int8x4(a)
    actual = np.zeros((len(a), w.shape[1]), zero.dtype)
    y, y_buffer = guarded.tensor(actual)
    arrays: tuple[Array, ...] = (*columns, zero)
    tensors = [guarded.tensor(array) for array in arrays]
    operands = tuple(tensor for tensor, _ in tensors)
    steps = integer_matmul_steps(packed, pack_int8_constant(w, target), y, None, epilogue, operands)
    buffers = {buffer: array for (_, buffer), array in zip(tensors, arrays, strict=True)}
    guarded.run([compile_for(s, target) for s in steps], {packed.buffer: memory, y_buffer: actual, **buffers})
    return actual


def quantize(x: Array, zero: Array) -> Array:
    """By the text of QuantizeLinear: saturate(round to nearest even(x) + zero point); NaN becomes the lowest integer."""
    info = np.iinfo(zero.dtype)
    shifted = np.rint(x) + float(zero[0])
    return np.clip(np.where(np.isnan(shifted), info.min, shifted), info.min, info.max).astype(zero.dtype)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("zero", ["lowest", "none", "middle", "highest"])
@pytest.mark.parametrize("chain", [SHORT_CHAIN, LONG_CHAIN])
def test_results_are_rounded_to_even_and_saturated(width: int, dtype: str, zero: str, chain: int) -> None:
    info = np.iinfo(dtype)
    point = {"lowest": info.min, "none": 0, "middle": 3, "highest": info.max}[zero]
    a, w = draw(ROWS, TERMS, dtype="u1"), draw(TERMS, width, dtype="i1", seed=1)
    random = np.random.default_rng(2)
    scale = np.float32(2.0) ** random.integers(-12, -1, width).astype(
        np.float32
    )  # products and sums are exact
    bias = random.integers(-300, 300, width).astype(np.float32) / 2
    exact = (a.astype(np.int64) @ w.astype(np.int64)) * scale.astype(np.float64) + bias
    assert (exact % 1 == 0.5).any() and (exact > 255).any() and (exact < -128).any(), (
        "no ties, or no saturation"
    )
    zeros = np.array([point], dtype)
    for bounded in (True, False):
        epilogue = quantized_epilogue(
            DTYPES[dtype], has_zero_point=zero != "none", bounded=bounded, chain=chain
        )
        for target in make_targets()[::2]:
            actual = run_product(a, w, (scale, bias), zeros, epilogue, target)
            np.testing.assert_array_equal(actual, quantize(exact, zeros), f"{target.lanes} lanes")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("point", [-128, 0, 127, 255])
def test_quotients_beyond_int32_saturate(dtype: str, point: int) -> None:
    info = np.iinfo(dtype)
    zero = np.array([np.clip(point, info.min, info.max)], dtype)
    special = [
        np.inf,
        -np.inf,
        np.nan,
        2.0**31,
        -(2.0**31),
        2.0**30,
        3e38,
        -3e38,
        2.0**31 - 128,
        5e9,
        -5e9,
        0.5,
    ]
    bias = np.resize(np.array(special, np.float32), 64)
    a, w = np.zeros((ROWS, TERMS), np.uint8), np.zeros((TERMS, 64), np.int8)
    expected = quantize(np.broadcast_to(bias.astype(np.float64), (ROWS, 64)), zero)
    epilogue = quantized_epilogue(DTYPES[dtype], has_zero_point=True, bounded=False, chain=SHORT_CHAIN)
    for target in make_targets()[::2]:
        actual = run_product(a, w, (np.ones(64, np.float32), bias), zero, epilogue, target)
        np.testing.assert_array_equal(actual, expected, f"{target.lanes} lanes")


def test_only_results_of_quantization_are_packed_and_only_on_targets_with_the_instructions() -> None:
    target = replace(host_target(), lanes=16, features="+avx512bw,+avx512dq")
    epilogue = quantized_epilogue(DataType.UINT8, has_zero_point=True, bounded=False, chain=SHORT_CHAIN)
    assert match_quantized_result(epilogue, target) is not None
    assert match_quantized_result(epilogue, replace(target, features="+avx2")) is None
    assert match_quantized_result(epilogue, replace(target, lanes=8)) is None
    for lanes, features in ((8, "+avx2"), (4, "+sse2")):
        narrow = replace(target, lanes=lanes, features=features)
        assert match_quantized_result(epilogue, narrow) is not None
        assert match_quantized_result(epilogue, replace(narrow, features="")) is None
    narrower = Cast(DataType.UINT8, Apply("clamp", (Apply("round", (Local("x"),)), Number(0), Number(200))))
    assert match_quantized_result(replace(epilogue, expression=narrower), target) is None
    assert match_quantized_result(IntegerEpilogue(), target) is None


@pytest.mark.parametrize("zero", [0, 100, 255])
@pytest.mark.parametrize("width", WIDTHS)
def test_quotients_near_the_middle_of_two_integers_are_rounded_exactly(width: int, zero: int) -> None:
    """Scales are the floats around those that make some sum n + 1/2, where float32 and float64 round differently."""
    draw = np.random.default_rng(width)
    sums = draw.integers(2, 128, width)
    near = ((draw.integers(0, 1 << 30, width) % (sums // 2) + 0.5) / sums).astype(np.float32)
    scales = np.nextafter(near, np.where(draw.random(width) < 0.5, 0, 1).astype(np.float32))
    scales = np.where(draw.random(width) < 0.3, near, scales)
    numbers = ", ".join(map(repr, scales.tolist()))
    text = f"""g (uint8[M,1] a) => (uint8[M,{width}] y)
        <float one = {{1}}, uint8 none = {{0}}, int8[1,{width}] b = {{{", ".join("1" for _ in sums)}}},
         float[{width}] scales = {{{numbers}}}, int8 zb = {{0}}, uint8 zero = {{{zero}}}>
        {{ y = QLinearMatMul(a, one, none, b, scales, zb, one, zero) }}"""
    a = np.arange(256, dtype=np.uint8)[:, None]
    (y,) = sx.Session(parse_model(text), engine="native").run({"a": a}).values()
    exact = np.rint(a.astype(np.float64) * scales.astype(np.float64)) + zero
    assert np.array_equal(y, np.clip(exact, 0, 255))
    approximate = np.rint(a.astype(np.float32) * scales) + zero
    assert (
        width < 48 or zero == 255 or not np.array_equal(np.clip(approximate, 0, 255), np.clip(exact, 0, 255))
    )


def test_float32_decides_only_where_it_is_certain() -> None:
    """The approximation belongs to what is rounded at last, and to a quotient that fits in int32."""
    exact = Apply("mul", (Cast(DataType.DOUBLE, Local("x")), Local("o0")))
    pair = Approximation(exact, Apply("mul", (Cast(DataType.FLOAT, Local("x")), Local("o1"))))
    low, high = map(Number, QUANTIZED_RANGES[DataType.UINT8])
    other = Apply("mul", (Cast(DataType.DOUBLE, Local("x")), Number(3)))
    target = replace(host_target(), lanes=16, features="+avx512bw,+avx512dq")
    for quotient, is_bounded, has_approximation in (
        (exact, True, True),
        (other, True, False),
        (exact, False, False),
    ):
        value = Cast(DataType.UINT8, Apply("clamp", (Apply("round", (quotient,)), low, high)))
        epilogue = IntegerEpilogue(
            value,
            ("scalar", "scalar"),
            (DataType.DOUBLE, DataType.FLOAT),
            DataType.UINT8,
            (),
            is_bounded,
            pair,
        )
        result = match_quantized_result(epilogue, target)
        assert result is not None and result.element == "double"
        avx2 = replace(target, lanes=8, features="+avx2")
        assert match_quantized_result(epilogue, avx2) is None, "only AVX-512 packs quotients of float64"
        assert (result.approximation is not None) == has_approximation

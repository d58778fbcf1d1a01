"""Casts from and to float16 and bfloat16: exhaustive extension, and rounding to nearest even."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from compile.guarded import run, tensor
from compile.lane_widths import with_lanes
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.codegen.expressions import Cast, Local
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.program import Kernel, Step
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

HALF_TYPES = [DataType.FLOAT16, DataType.BFLOAT16]
ALL_BITS = np.arange(1 << 16, dtype=np.uint16)
VARIANTS = [(16, True), (8, True), (4, True), (1, True), (16, False), (4, False)]


@pytest.fixture(autouse=True)
def ignore_float_warnings() -> Iterator[None]:
    """NumPy warns about overflows to infinity and casts of NaN."""
    with np.errstate(all="ignore"):
        yield


def with_variant(step: Step, lanes: int, has_fma: bool) -> Step:
    """The step for a number of lanes, with or without native float16 conversions."""
    kernel = with_lanes(step, lanes).kernel

    def source(name: str, target: Target) -> str:
        return kernel.source(name, replace(target, has_fma=has_fma and target.has_fma))

    return replace(step, kernel=Kernel(f"{kernel.key}:{has_fma}", source))


def cast(x: Array, to: DataType, lanes: int = 16, *, has_fma: bool = True) -> Array:
    """Casts x by a kernel."""
    y = np.zeros(x.shape, to.numpy)
    (source, source_buffer), (target, target_buffer) = tensor(x), tensor(y)
    step = elementwise_step(Cast(to, Local("i0")), [source], target)
    run(
        with_variant(step, lanes, has_fma),
        {source_buffer: as_bits(x), target_buffer: as_bits(y)},
        chunk=1 << 12,
    )
    return y


def as_bits(x: Array) -> Array:
    """Half precision as its bits; other arrays unchanged."""
    return x.view(np.uint16) if x.itemsize == 2 else x


def assert_equal_except_nan(result: Array, expected: Array) -> None:
    """Asserts equal values and signs of zeros; NaN payloads may differ."""
    actual64, expected64 = result.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(actual64, expected64)
    np.testing.assert_array_equal(
        np.signbit(actual64[actual64 == 0]), np.signbit(expected64[expected64 == 0])
    )


def values_around_ties(half: DataType) -> Array:
    """float32 values around the ties between adjacent half-precision values, and random ones."""
    numbers = ALL_BITS.view(half.numpy).astype(np.float32)
    ties = ((numbers.astype(np.float64) + np.roll(numbers, -1)) / 2).astype(np.float32)
    around_ties = [(ties.view(np.uint32) + np.uint32(step)).view(np.float32) for step in (0, 1, 2**32 - 1)]
    random_values = np.random.default_rng(0).integers(0, 1 << 32, 1 << 17, dtype=np.uint32).view(np.float32)
    return np.concatenate([numbers, *around_ties, random_values])


@pytest.mark.parametrize(("lanes", "has_fma"), VARIANTS)
@pytest.mark.parametrize("half", HALF_TYPES, ids=lambda half: half.text)
def test_half_precision_extends_to_float32_exactly(half: DataType, lanes: int, has_fma: bool) -> None:
    x = ALL_BITS.view(half.numpy)
    assert_equal_except_nan(cast(x, DataType.FLOAT, lanes, has_fma=has_fma), x.astype(np.float32))


@pytest.mark.parametrize(("lanes", "has_fma"), VARIANTS)
@pytest.mark.parametrize("half", HALF_TYPES, ids=lambda half: half.text)
def test_float32_rounds_to_nearest_even(half: DataType, lanes: int, has_fma: bool) -> None:
    x = values_around_ties(half)
    assert_equal_except_nan(cast(x, half, lanes, has_fma=has_fma), x.astype(half.numpy))


def test_float16_and_bfloat16_convert_to_each_other() -> None:
    for source, to in (HALF_TYPES, HALF_TYPES[::-1]):
        x = ALL_BITS.view(source.numpy)
        assert_equal_except_nan(cast(x, to), x.astype(np.float32).astype(to.numpy))


def test_doubles_are_rounded_once() -> None:
    """Double rounding through float32 would make 1 + 2**-8 + 2**-40 a tie, which rounds down."""
    x = np.array([1 + 2**-8 + 2**-40, -1 - 2**-8 - 2**-40, 1 + 2**-8, 1e300, -1e-300, np.nan, np.inf])
    expected = [1.0078125, -1.0078125, 1.0, np.inf, -0.0, np.nan, np.inf]
    assert_equal_except_nan(cast(x, DataType.BFLOAT16), np.array(expected, ml_dtypes.bfloat16))
    x = np.array([1 + 2**-11 + 2**-50, 65519.999999, 65520.0, 2**-25 + 2**-60])
    assert_equal_except_nan(cast(x, DataType.FLOAT16), x.astype(np.float16))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32, np.uint32])
def test_integers_are_rounded_once(dtype: type[np.generic]) -> None:
    """Around ties of bfloat16 (8 significant bits), which lower bits break."""
    top = np.iinfo(dtype).max  # type: ignore[type-var]
    x = [
        sign * ((0x101 << shift) + more)
        for shift in range(1, 55)
        for more in (-1, 0, 1)
        for sign in (1, -1)
        if (0x101 << shift) < top and (sign > 0 or np.issubdtype(dtype, np.signedinteger))
    ]
    x += [0, int(top), int(np.iinfo(dtype).min)]  # type: ignore[type-var]
    expected = [round_to_8_bits(number) for number in x]
    np.testing.assert_array_equal(cast(np.array(x, dtype), DataType.BFLOAT16).astype(np.float64), expected)


def round_to_8_bits(number: int) -> int:
    """The nearest number with 8 significant bits, ties to even."""
    size = abs(number)
    dropped_bits = max(size.bit_length() - 8, 0)
    kept_bits, remainder = size >> dropped_bits, size & ((1 << dropped_bits) - 1)
    half = 1 << dropped_bits >> 1
    kept_bits += remainder > half or (remainder == half and dropped_bits > 0 and kept_bits & 1)
    return (kept_bits << dropped_bits) * (1 if number >= 0 else -1)


def test_small_integers_and_bools_are_exact() -> None:
    for x in (np.arange(-128, 128, dtype=np.int8), np.arange(256, dtype=np.uint8), np.array([True, False])):
        for half in HALF_TYPES:
            assert_equal_except_nan(cast(x, half), x.astype(np.float32))


def test_casts_to_integers_truncate() -> None:
    x = np.array([-2.75, -0.0, 0.5, 3.999, 240.0, np.nan], np.float16)
    np.testing.assert_array_equal(cast(x[:5], DataType.INT32), x[:5].astype(np.int32))
    np.testing.assert_array_equal(cast(x, DataType.BOOL), [True, False, True, True, True, True])

"""Casts from and to minifloats and integers of fewer than 8 bits: every code, and all roundings, as the reference kernel does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from compile.guarded import run, tensor
from compile.lane_widths import with_lanes
from sardonyx._src.compile.codegen.element_types import CODED_TYPES, LLVM_ELEMENTS, MINIFLOAT_TYPES
from sardonyx._src.compile.codegen.expressions import Local
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.elementwise.operators import scalar_expression
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ops.quantization.conversion import CastRule, convert

CODED = sorted(CODED_TYPES)
NUMBERS = [*LLVM_ELEMENTS]
LANES = (16, 8, 4, 1)
MODES = ("up", "nearest", "down")
RULES = [
    (dtype, saturate, mode)
    for dtype in CODED
    for saturate in ((1, 0) if dtype in MINIFLOAT_TYPES else (1,))
    for mode in (MODES if dtype is DataType.FLOAT8E8M0 else MODES[:1])
]


@pytest.fixture(autouse=True)
def ignore_float_warnings() -> Iterator[None]:
    """NumPy warns about overflows to infinity and casts of NaN."""
    with np.errstate(all="ignore"):
        yield


def cast(x: Array, to: DataType, lanes: int = 16, *, saturate: int = 1, round_mode: str = "up") -> Array:
    """Casts x by a kernel."""
    attributes = {"to": int(to), "saturate": saturate, "round_mode": round_mode}
    value = scalar_expression("Cast", attributes, [Local("i0")], [DataType.of(x.dtype)])
    assert value is not None, f"{x.dtype} must have an expression as {to.text}"
    y = np.zeros(x.shape, to.numpy)
    (source, source_buffer), (target, target_buffer) = tensor(x), tensor(y)
    step = with_lanes(elementwise_step(value, [source], target), lanes)
    run(step, {source_buffer: in_bytes(x), target_buffer: in_bytes(y)}, chunk=1 << 12)
    return y


def in_bytes(x: Array) -> Array:
    """Types of ml_dtypes as integers; other arrays unchanged."""
    return x.view(f"u{x.itemsize}") if x.dtype.kind in "Vf" and x.itemsize < 4 else x


def assert_same(result: Array, expected: Array) -> None:
    """Asserts equal codes; of wider floats equal numbers and signs of zeros, since payloads of NaN may differ."""
    assert result.dtype == expected.dtype, f"expected {expected.dtype}, got {result.dtype}"
    if DataType.of(result.dtype) in CODED_TYPES:
        np.testing.assert_array_equal(result.view(np.uint8), expected.view(np.uint8))
        return
    if result.dtype.kind in "fV":
        result, expected = result.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(result, expected)
    if result.dtype.kind == "f":
        signs = [np.signbit(array) & (array == 0) for array in (result, expected)]
        np.testing.assert_array_equal(*signs)


def codes(dtype: DataType) -> Array:
    """All codes of a type."""
    return np.arange(1 << dtype.bits, dtype=np.uint8).view(dtype.numpy)


def numbers_around(dtype: DataType) -> Array:
    """float32 numbers at and beside the numbers of a type and the ties between them, and random ones."""
    numbers = np.unique(codes(dtype).astype(np.float64))
    numbers = numbers[np.isfinite(numbers)]
    beyond = [numbers[-1] * 2 - numbers[-2], 2 * numbers[-1], 4 * numbers[-1]]
    points = np.concatenate([numbers, beyond, -numbers, [-b for b in beyond]])
    points = np.unique(points)
    ties = [(points[:-1] + points[1:]) / 2, points[:-1] * 0.75 + points[1:] * 0.25]
    points = np.concatenate([points, *ties]).astype(np.float32)
    beside = [(points.view(np.uint32) + np.uint32(step)).view(np.float32) for step in (0, 1, 2**32 - 1)]
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, -3e38, 1e-45, -1e-45], np.float32)
    random = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, dtype=np.uint32).view(np.float32)
    return np.concatenate([*beside, special, random])


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", CODED, ids=lambda dtype: dtype.text)
def test_every_code_is_decoded_exactly(dtype: DataType, lanes: int) -> None:
    x = codes(dtype)
    assert_same(cast(x, DataType.FLOAT, lanes), convert(x, DataType.FLOAT, CastRule()))


@pytest.mark.parametrize("dtype", [t for t in CODED if t.bits < 8], ids=lambda dtype: dtype.text)
def test_bits_above_a_code_are_ignored(dtype: DataType) -> None:
    alien = np.arange(256, dtype=np.uint8)
    clear = alien & np.uint8((1 << dtype.bits) - 1)
    expected = convert(clear.view(dtype.numpy), DataType.FLOAT, CastRule())
    assert_same(cast(alien.view(dtype.numpy), DataType.FLOAT), expected)


@pytest.mark.parametrize("to", NUMBERS, ids=lambda dtype: dtype.text)
@pytest.mark.parametrize("dtype", CODED, ids=lambda dtype: dtype.text)
def test_every_code_is_cast_to_every_type(dtype: DataType, to: DataType) -> None:
    assert_same(cast(codes(dtype), to), convert(codes(dtype), to, CastRule()))


@pytest.mark.parametrize("to", CODED, ids=lambda dtype: dtype.text)
@pytest.mark.parametrize("dtype", CODED, ids=lambda dtype: dtype.text)
def test_every_code_is_cast_to_every_other_coded_type(dtype: DataType, to: DataType) -> None:
    if dtype is not to:
        assert_same(cast(codes(dtype), to), convert(codes(dtype), to, CastRule()))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize(("to", "saturate", "mode"), RULES)
def test_float32_is_rounded_at_ties_and_limits(to: DataType, saturate: int, mode: str, lanes: int) -> None:
    x = numbers_around(to)
    expected = convert(x, to, CastRule(bool(saturate), mode))
    assert_same(cast(x, to, lanes, saturate=saturate, round_mode=mode), expected)


@pytest.mark.parametrize("source", [DataType.FLOAT16, DataType.BFLOAT16], ids=lambda dtype: dtype.text)
@pytest.mark.parametrize(("to", "saturate", "mode"), RULES)
def test_every_half_precision_number_is_rounded(
    to: DataType, saturate: int, mode: str, source: DataType
) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(source.numpy)
    expected = convert(x, to, CastRule(bool(saturate), mode))
    assert_same(cast(x, to, saturate=saturate, round_mode=mode), expected)


@pytest.mark.parametrize("to", CODED, ids=lambda dtype: dtype.text)
def test_doubles_are_rounded_once(to: DataType) -> None:
    x = numbers_around(to).astype(np.float64)
    x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf), [1e300, -1e300, 1e-300]])
    for saturate in (1, 0):
        assert_same(cast(x, to, saturate=saturate), convert(x, to, CastRule(bool(saturate))))


INTEGERS = [dtype for dtype in NUMBERS if dtype.is_integer or dtype is DataType.BOOL]


@pytest.mark.parametrize("source", INTEGERS, ids=lambda dtype: dtype.text)
@pytest.mark.parametrize("to", CODED, ids=lambda dtype: dtype.text)
def test_integers_are_rounded_once_or_keep_their_low_bits(to: DataType, source: DataType) -> None:
    random = np.random.default_rng(0).integers(0, 256, 1 << 14, dtype=np.uint8)
    if source is DataType.BOOL:
        x = random > 127
    else:
        small, limits = np.arange(-600, 600), np.iinfo(source.numpy)
        ends = [limits.min, limits.max, limits.max // 3]
        x = np.concatenate(
            [random.view(source.numpy), small.astype(source.numpy), np.array(ends, source.numpy)]
        )
    assert_same(cast(x, to), convert(x, to, CastRule()))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("source", [DataType.FLOAT, DataType.DOUBLE], ids=lambda dtype: dtype.text)
def test_floats_beyond_int64_become_uint64(source: DataType, lanes: int) -> None:
    edges = [0.0, -0.0, 0.5, 1.0, -1.0, -1.5, 2.0**62, 2.0**63, 2.0**63 + 2.0**40, 2.0**64, -(2.0**63), 1e30]
    x = np.array([*edges, np.nan, np.inf, -np.inf, 2.0**63 - 2.0**39, 2.0**64 - 2.0**40, 7.9], source.numpy)
    assert_same(cast(x, DataType.UINT64, lanes), convert(x, DataType.UINT64, CastRule()))

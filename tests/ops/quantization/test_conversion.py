"""Rounding conversions, compared with tables of all numbers of a type."""

from bisect import bisect_left
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.quantization.cast import cast
from sardonyx._src.ops.quantization.conversion import CastRule, convert

NARROW = {
    DataType.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    DataType.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    DataType.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    DataType.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
    DataType.FLOAT4E2M1: ml_dtypes.float4_e2m1fn,
    DataType.FLOAT6E2M3: ml_dtypes.float6_e2m3fn,
    DataType.FLOAT6E3M2: ml_dtypes.float6_e3m2fn,
    DataType.BFLOAT16: ml_dtypes.bfloat16,
    DataType.FLOAT16: np.float16,
}


def positive(to: DataType) -> list[tuple[Fraction, int]]:
    """Every finite number >= 0 of the type with its code, in order of size."""
    kind = np.uint16 if to.bits == 16 else np.uint8
    codes = np.arange(1 << (to.bits - 1)).astype(kind)
    with np.errstate(invalid="ignore"):  # signalling NaN
        values = codes.view(NARROW[to]).astype(np.float64)
    return [
        (Fraction(v), int(c)) for v, c in zip(values.tolist(), codes.tolist(), strict=True) if np.isfinite(v)
    ]


TABLES = {to: positive(to) for to in NARROW}


def nearest(x: Fraction, to: DataType) -> int:
    """The code of the number nearest to x >= 0, ties to the even code, saturated at the largest number."""
    table = TABLES[to]
    above = min(bisect_left(table, (x, 0)), len(table) - 1)
    near = table[max(above - 1, 0) : above + 1]
    return min(near, key=lambda entry: (abs(entry[0] - x), entry[1] & 1))[1]


ANY = st.floats(1e-9, 6e4) | st.floats(0.01, 10) | st.integers(0, 60000).map(float)


@pytest.mark.parametrize("to", NARROW, ids=lambda to: to.name)
@given(value=ANY, nudge=st.sampled_from([0.0, 1.0, -1.0]), scale=st.integers(-12, 5))
def test_rounding_happens_once(to: DataType, value: float, nudge: float, scale: int) -> None:
    """Halfway points of the type and their neighbors in float64, where rounding twice goes wrong."""
    table = TABLES[to]
    place = int(value * 7919) % (len(table) - 1)
    middle = float((table[place][0] + table[place + 1][0]) / 2)
    for x in (np.nextafter(middle, middle + nudge), value * 2.0**scale):
        code = nearest(Fraction(float(x)), to)
        largest = table[-1]
        if Fraction(float(x)) > largest[0] and to in (DataType.BFLOAT16, DataType.FLOAT16):
            continue  # rounds to infinity, which is not in the table
        result = convert(np.array([x, -x]), to, CastRule())
        bits = result.view(np.uint16 if to.bits == 16 else np.uint8).tolist()
        sign = 1 << (to.bits - 1)
        uz = to in (DataType.FLOAT8E4M3FNUZ, DataType.FLOAT8E5M2FNUZ)
        assert bits == [code, 0 if uz and code == 0 else code | sign]


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_are_rounded_once_to_bfloat16(x: int) -> None:
    size = Fraction(abs(x))
    pattern = convert(np.array([x]), DataType.BFLOAT16, CastRule()).view(np.uint16)
    assert int(pattern[0]) & 0x7FFF == nearest(size, DataType.BFLOAT16)
    assert bool(int(pattern[0]) >> 15) == (x < 0)
    scalar = convert(np.array(x), DataType.BFLOAT16, CastRule())
    assert scalar.view(np.uint16) == pattern[0]


@given(st.decimals("0.001", 60000, allow_nan=False, places=40))
def test_strings_are_rounded_once(number: object) -> None:
    code = nearest(Fraction(str(number)), DataType.FLOAT16)
    x = np.array([str(number)], object)
    assert cast(x, DataType.FLOAT16, CastRule()).view(np.uint16).tolist() == [code]


def test_a_string_next_to_a_halfway_point_is_not_rounded_twice() -> None:
    x = np.array(
        ["1.0000000596046447753906250000000000000000000000001", "1.000000059604644775390625"], object
    )
    assert cast(x, DataType.FLOAT, CastRule()).tolist() == [1 + 2.0**-23, 1]
    assert cast(x, DataType.DOUBLE, CastRule()).tolist() == [1 + 2.0**-24, 1 + 2.0**-24]


INTEGERS = [t for t in DataType if t.is_integer]


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(INTEGERS))
def test_integers_keep_their_low_bits(x: int, to: DataType) -> None:
    converted = int(convert(np.array([x]), to, CastRule()).astype(np.int64 if to.is_signed else np.uint64)[0])
    low = x % (1 << to.bits)
    assert converted == (low - (1 << to.bits) if to.is_signed and low >> (to.bits - 1) else low)


@given(st.sampled_from(INTEGERS), st.sampled_from(INTEGERS), st.integers(0, 3))
def test_every_pair_of_integer_types_agrees_with_modular_arithmetic(a: DataType, b: DataType, x: int) -> None:
    value = x % (1 << a.bits) if not a.is_signed else x % (1 << a.bits) - (1 << (a.bits - 1))
    start = np.array([value], np.int64).astype(a.numpy)
    converted = int(convert(start, b, CastRule()).astype(np.int64)[0])
    assert (converted - value) % (1 << b.bits) == 0

"""Typed fields that do not match their element type or shape: each is an error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sardonyx._src.dtypes import Array, DataType, field_of, from_field, to_field


@pytest.mark.parametrize(
    ("dtype", "entries", "message"),
    [
        (DataType.INT8, [0, 300], r"int32_data\[1\] must be from -128 to 127 for INT8; got 300"),
        (DataType.INT8, [-129, 0], r"int32_data\[0\] must be from .* for INT8; got -129"),
        (DataType.UINT8, [0, -1], r"\[1\] must be from 0 to 255 for UINT8; got -1"),
        (DataType.BOOL, [1, 2], r"\[1\] must be from 0 to 1 for BOOL; got 2"),
        (DataType.FLOAT16, [0, 65536], r"\[1\] must be from 0 to 65535 for FLOAT16; got 65536"),
        (DataType.BFLOAT16, [-1, 0], r"\[0\] must be from .* for BFLOAT16; got -1"),
        (DataType.FLOAT8E5M2, [256, 0], r"\[0\] must be from .* for FLOAT8E5M2; got 256"),
        (DataType.FLOAT6E2M3, [63, 64], r"\[1\] must be from 0 to 63 for FLOAT6E2M3; got 64"),
        (DataType.UINT32, [0, 2**32], r"uint64_data\[1\] must be from .* for UINT32; got 4294967296"),
    ],
)
@pytest.mark.parametrize("listed", [True, False], ids=["list", "array"])
def test_an_entry_that_does_not_fit_is_named(
    dtype: DataType, entries: list[int], message: str, listed: bool
) -> None:
    given = entries if listed else np.array(entries, np.int64)
    with pytest.raises(ValueError, match=message):
        from_field(field_of(dtype), given, dtype, (2,))


@pytest.mark.parametrize(
    ("dtype", "entries", "message"),
    [
        (DataType.INT32, [0, 2**31], r"int32_data\[1\] must be from .* for INT32; got 2147483648"),
        (DataType.INT8, [0, 2**31], r"int32_data\[1\] must be from .* for INT8; got 2147483648"),
        (
            DataType.INT64,
            [0, -(2**63) - 1],
            r"int64_data\[1\] must be from .* for INT64; got -9223372036854775809",
        ),
        (DataType.UINT64, [0, -1], r"uint64_data\[1\] must be from .* for UINT64; got -1"),
        (
            DataType.UINT64,
            [2**64, 0],
            r"uint64_data\[0\] must be from .* for UINT64; got 18446744073709551616",
        ),
        (DataType.FLOAT, [0.0, 1e39], r"float_data\[1\] must be at most 3.4.*; got 1e\+39"),
    ],
)
def test_a_number_beyond_the_field_is_named(dtype: DataType, entries: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_field(field_of(dtype), entries, dtype, (2,))


@pytest.mark.parametrize("dtype", [DataType.BOOL, DataType.FLOAT6E3M2], ids=lambda t: t.text)
def test_limits_hold_for_entries_of_one_byte_too(dtype: DataType) -> None:
    with pytest.raises(ValueError, match=r"\[0\] must be from .*; got 200"):
        from_field("int32_data", np.array([200], np.uint8), dtype, (1,))


def test_infinity_and_nan_fit_a_float_field() -> None:
    array = from_field("float_data", [float("inf"), float("-inf"), float("nan")], DataType.FLOAT, (3,))
    assert array.tolist()[:2] == [float("inf"), float("-inf")]
    assert np.isnan(array[2])


@pytest.mark.parametrize("entries", [[1.0, 1.5], np.array([1.0, 1.5])], ids=["list", "array"])
def test_a_fraction_is_no_integer(entries: Sequence[float] | Array) -> None:
    with pytest.raises(
        TypeError, match=r"int32_data must (have entries of an integer dtype; got float64|hold integers)"
    ):
        from_field("int32_data", entries, DataType.INT32, (2,))


def test_integers_are_no_floats_in_an_array() -> None:
    with pytest.raises(TypeError, match="float_data must have entries of a float dtype; got int64"):
        from_field("float_data", np.array([1], np.int64), DataType.FLOAT, (1,))


@pytest.mark.parametrize(
    ("dtype", "shape", "count"),
    [
        (DataType.FLOAT, (2, 2), 4),
        (DataType.COMPLEX64, (2,), 4),
        (DataType.UINT4, (3,), 2),
        (DataType.INT2, (5,), 2),
        (DataType.FLOAT6E2M3, (3,), 3),
        (DataType.INT64, (), 1),
    ],
    ids=lambda x: x.text if isinstance(x, DataType) else "",
)
@pytest.mark.parametrize("off", [-1, 1])
def test_a_wrong_number_of_entries_names_both(
    dtype: DataType, shape: tuple[int, ...], count: int, off: int
) -> None:
    with pytest.raises(ValueError, match=f"{dtype.name}.* must have {count} entries; got {count + off};"):
        from_field(field_of(dtype), [0] * (count + off), dtype, shape)


def test_a_field_of_another_type_is_refused() -> None:
    with pytest.raises(ValueError, match="int64_data cannot hold FLOAT; it belongs in float_data"):
        from_field("int64_data", [0], DataType.FLOAT, (1,))


def test_strings_are_no_numbers() -> None:
    with pytest.raises(ValueError, match="string_data holds no numbers"):
        from_field("string_data", [], DataType.STRING, (0,))
    with pytest.raises(ValueError, match="string_data holds no numbers"):
        to_field(np.array(["a"], object), DataType.STRING)


def test_to_field_never_casts() -> None:
    with pytest.raises(TypeError, match="dtype int32 for INT32; got int64"):
        to_field(np.zeros(1, np.int64), DataType.INT32)

"""String tensors: UTF-8 to `str` and back, whatever the bytes."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.numpy_helper
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx._src.dtypes import DataType, string_data, strings


def test_utf8_becomes_str() -> None:
    array = strings(["aé".encode(), b"", "語".encode()], (3,))
    assert array.dtype == object
    assert array.tolist() == ["aé", "", "語"]


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3)], ids=str)
def test_strings_agree_with_onnx(shape: tuple[int, ...]) -> None:
    values = [b"a%d" % i for i in range(int(np.prod(shape, dtype=np.int64)))]
    tensor = onnx.TensorProto(data_type=DataType.STRING.value, dims=shape, string_data=values)
    theirs = onnx.numpy_helper.to_array(tensor)
    ours = strings(values, shape)
    assert (ours.shape, ours.tolist()) == (shape, theirs.tolist())
    assert string_data(ours) == list(onnx.numpy_helper.from_array(theirs).string_data)


@given(st.lists(st.binary(max_size=8)))
def test_any_bytes_survive(values: list[bytes]) -> None:
    assert string_data(strings(values, (len(values),))) == values


def test_bytes_that_are_not_utf8_become_surrogate_escapes() -> None:
    assert strings([b"a\xff"], (1,)).tolist() == ["a\udcff"]


def test_views_are_read() -> None:
    assert strings([memoryview(b"xay")[1:2]], ()).tolist() == "a"


def test_string_arrays_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        strings([b"a"], (1,))[0] = "b"


@pytest.mark.parametrize("dtype", [np.dtype(object), np.dtype("<U2"), np.dtypes.StringDType()], ids=str)
def test_every_string_dtype_is_written_in_c_order(dtype: np.dtype[np.generic]) -> None:
    array = np.array([["a", "é"], ["", "dd"]], dtype=dtype)
    assert string_data(array.T) == [b"a", b"", "é".encode(), b"dd"]


def test_bytes_are_written_as_they_are() -> None:
    assert string_data(np.array([b"\xff", "a"], object)) == [b"\xff", b"a"]


@pytest.mark.parametrize("value", [3, None, float("nan")], ids=str)
def test_an_element_that_is_no_string_is_named(value: object) -> None:
    with pytest.raises(TypeError, match=r"element 1 of the string tensor must be str"):
        string_data(np.array(["a", value], object))


def test_numbers_are_no_strings() -> None:
    with pytest.raises(TypeError, match=r"must have a dtype of strings.*; got float64"):
        string_data(np.zeros(1))


def test_a_surrogate_that_escapes_no_byte_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        string_data(np.array(["\ud800"], object))


@pytest.mark.parametrize("count", [1, 3])
def test_a_wrong_number_of_strings_names_both(count: int) -> None:
    with pytest.raises(ValueError, match=rf"STRING\[2\] must have 2 entries; got {count};"):
        strings([b"a"] * count, (2,))

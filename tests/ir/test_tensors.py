"""Tensors: typed from Python values, dense from sparse."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sardonyx._src import dtypes
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InvalidModel, LimitError
from sardonyx._src.ir import Array, SparseTensor, Tensor
from sardonyx._src.ir.tensors import MAX_DECODED_ELEMENTS, FieldStorage


def ints(*values: object) -> Tensor:
    return Tensor.of(np.array(values, np.int64))


def test_python_floats_become_float_and_ints_int64() -> None:
    assert Tensor.of([1.5]).dtype is DataType.FLOAT
    assert Tensor.of([1, 2]).dtype is DataType.INT64
    assert Tensor.of(np.zeros(2)).dtype is DataType.DOUBLE
    assert Tensor.of([1.5], DataType.BFLOAT16).dtype is DataType.BFLOAT16


def test_bytes_are_counted_packed() -> None:
    assert Tensor.of([1, 2, 3], DataType.INT4).nbytes == 2
    assert Tensor.of(np.array(["ab", "ü"], object)).nbytes == 4


def test_linear_indices_position_values() -> None:
    sparse = SparseTensor(Tensor.of([5.0, 7.0]), ints(1, 3), (2, 2))
    assert sparse.numpy().tolist() == [[0, 5], [0, 7]]


def test_index_tuples_position_values() -> None:
    sparse = SparseTensor(Tensor.of([5.0, 7.0]), ints([0, 1], [1, 0]), (2, 2))
    assert sparse.numpy().tolist() == [[0, 5], [7, 0]]


def test_a_few_bytes_do_not_become_terabytes() -> None:
    sparse = SparseTensor(Tensor.of([5.0]), ints(0), (1 << 20, 1 << 20))
    with pytest.raises(LimitError, match="bytes as a dense tensor"):
        sparse.numpy()


@pytest.mark.parametrize("place", [[2, 0], [0, -1]])
def test_an_index_outside_the_shape_is_named(place: list[int]) -> None:
    sparse = SparseTensor(Tensor.of([5.0]), ints(place), (2, 2))
    with pytest.raises(InvalidModel, match=r"index \[.*\] of stored value 0 lies outside of shape \[2, 2\]"):
        sparse.numpy()


def test_a_sparse_scalar_has_one_position() -> None:
    assert SparseTensor(Tensor.of([5.0]), ints(0), ()).numpy().tolist() == 5.0


def test_strings_are_empty_where_nothing_is_stored() -> None:
    sparse = SparseTensor(Tensor.of(np.array(["a"], object)), ints(1), (2,))
    assert sparse.numpy().tolist() == ["", "a"]


@pytest.mark.parametrize(("count", "decodings"), [(3, 1), (MAX_DECODED_ELEMENTS + 1, 2)])
def test_few_numbers_of_a_typed_field_are_decoded_once(
    count: int, decodings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    original = dtypes.from_field

    def counting(field: str, values: Sequence[float], dtype: DataType, shape: tuple[int, ...]) -> Array:
        nonlocal calls
        calls += 1
        return original(field, values, dtype, shape)

    monkeypatch.setattr(dtypes, "from_field", counting)
    tensor = Tensor(DataType.FLOAT, (count,), FieldStorage("float_data", [0.5] * count))
    for _ in range(2):
        array = tensor.numpy()
        assert array.tolist() == [0.5] * count
        assert not array.flags.writeable
    assert calls == decodings


def test_a_typed_field_is_decoded_for_each_shape() -> None:
    storage = FieldStorage("int32_data", [1, 2, 3, 4])
    assert Tensor(DataType.INT8, (4,), storage).numpy().tolist() == [1, 2, 3, 4]
    assert Tensor(DataType.INT32, (2, 2), storage).numpy().tolist() == [[1, 2], [3, 4]]

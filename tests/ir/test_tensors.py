"""Tensors: typed from Python values, dense from sparse."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InvalidModel, LimitError
from sardonyx._src.ir import SparseTensor, Tensor


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

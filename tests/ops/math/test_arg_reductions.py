import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    M,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    i64,
    infer_shape,
    infer_types,
    make_inference,
    samples,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType

X = f32([[2, 1, 2], [3, 10, 3]])
VERSIONS = (1, 11, 12, 13)

CASES = [
    *(Case("ArgMax", v, [X], [i64([[1, 1, 1]])]) for v in VERSIONS),
    *(Case("ArgMin", v, [X], [i64([[0, 0, 0]])]) for v in VERSIONS),
    *(Case("ArgMax", v, [X], [i64([[0], [1]])], {"axis": -1}, "negative axis") for v in VERSIONS),
    *(Case("ArgMin", v, [X], [i64([1, 0])], {"axis": 1, "keepdims": 0}, "axis dropped") for v in VERSIONS),
    *(Case("ArgMax", v, [X], [i64([[2], [1]])], {"axis": 1, "select_last_index": 1}, "last") for v in (12, 13)),
    *(Case("ArgMin", v, [X], [i64([1, 2])], {"axis": 1, "keepdims": 0, "select_last_index": 1}, "last") for v in (12, 13)),
    Case("ArgMax", 13, [f32([1, np.nan, np.inf, np.nan])], [i64([1])], label="the first nan"),
    Case("ArgMin", 13, [f32([1, np.nan, -np.inf, np.nan])], [i64([1])], label="the first nan"),
    Case("ArgMax", 13, [f32([1, np.nan, 5, np.nan])], [i64([3])], {"select_last_index": 1}, "the last nan"),
    Case("ArgMin", 13, [f32([-np.inf, -np.inf])], [i64([0])], label="infinities are equal"),
    Case("ArgMax", 13, [f32([-0.0, 0.0])], [i64([0])], label="both zeros are equal"),
    Case("ArgMax", 13, [np.array([255, 0], np.uint8)], [i64([0])], label="unsigned"),
    Case("ArgMax", 13, [np.array([2**53, 2**53 + 1])], [i64([1])], label="beyond the precision of double"),
    Case("ArgMax", 13, [np.zeros((0, 3), np.float32)], [np.zeros((0, 1), np.int64)], {"axis": 1}, "no lines"),
    Case("ArgMax", 13, [np.zeros((0, 0), np.float32)], [np.zeros((0, 1), np.int64)], {"axis": 1}, "no empty lines"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_element_type(version: int) -> None:
    for x in samples("ArgMax", version):
        assert_case(Case("ArgMax", version, [x], [i64([2])]))
    for x in samples("ArgMin", version):
        assert_case(Case("ArgMin", version, [x], [i64([3])]))


def test_empty_lines_and_axes_outside_are_refused() -> None:
    assert_refused(
        Case("ArgMax", 13, [np.zeros((2, 0), np.float32)], [i64(0)], {"axis": 1}),
        "axis 1 must have at least one element; got an empty axis",
    )
    assert_refused(Case("ArgMin", 11, [X], [i64(0)], {"axis": 2}), "axis 2 lies outside")
    assert_refused(Case("ArgMax", 1, [f32(1)], [i64(0)]), "outside of rank 0")


def test_symbols_stay_in_the_shape() -> None:
    assert infer_shape(make_inference("ArgMax", 13, [floats(N, 3, M)], axis=1)) == (N, 1, M)
    assert infer_shape(make_inference("ArgMin", 13, [floats(N, 3, M)], axis=-3, keepdims=0)) == (3, M)
    assert infer_shape(make_inference("ArgMin", 1, [TensorType(FLOAT)])) is None
    assert_contradiction(make_inference("ArgMax", 13, [floats(N)], axis=1), "axis 1")


def test_indices_are_int64_even_of_an_unknown_tensor() -> None:
    assert infer_types(make_inference("ArgMax", 13, [None])) == [TensorType(DataType.INT64)]

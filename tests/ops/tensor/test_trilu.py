import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    i64,
    infer_types,
    make_inference,
    samples,
    strs,
)

X = f32([[1, 2, 3], [4, 5, 6], [7, 8, 9]])

CASES = [
    Case("Trilu", 14, [X], [f32([[1, 2, 3], [0, 5, 6], [0, 0, 9]])], label="upper by default"),
    Case("Trilu", 14, [X], [f32([[1, 0, 0], [4, 5, 0], [7, 8, 9]])], {"upper": 0}, "lower"),
    Case("Trilu", 14, [X, i64(1)], [f32([[0, 2, 3], [0, 0, 6], [0, 0, 0]])], label="upper, k 1"),
    Case("Trilu", 14, [X, i64(-1)], [f32([[1, 2, 3], [4, 5, 6], [0, 8, 9]])], label="upper, k -1"),
    Case("Trilu", 14, [X, i64(1)], [f32([[1, 2, 0], [4, 5, 6], [7, 8, 9]])], {"upper": 0}, "lower, k 1"),
    Case("Trilu", 14, [X, i64([-1])], [f32([[0, 0, 0], [4, 0, 0], [7, 8, 0]])], {"upper": 0}, "lower, k -1"),
    Case("Trilu", 14, [X, i64(2**63 - 1)], [np.zeros((3, 3), np.float32)], label="k beyond the columns"),
    Case("Trilu", 14, [X, i64(-(2**63))], [X], label="k below all"),
    Case(
        "Trilu",
        14,
        [f32([X, -X])[:, :2]],
        [f32([[[1, 2, 3], [0, 5, 6]], [[-1, -2, -3], [0, -5, -6]]])],
        label="batch",
    ),
    Case("Trilu", 14, [f32([[np.nan], [np.inf]])], [f32([[np.nan], [0]])], label="what goes is zero"),
    Case("Trilu", 14, [np.zeros((0, 2), np.float32)], [np.zeros((0, 2), np.float32)], label="empty"),
    Case("Trilu", 14, [strs([["a"], ["b"]])], [strs([["a"], [""]])], label="strings"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_every_element_type() -> None:
    for x in samples("Trilu", 14):
        y = x.copy()
        y[2] = "" if x.dtype == np.object_ else 0
        assert_case(Case("Trilu", 14, [x.reshape(2, 2)], [y.reshape(2, 2)]))


def test_refuses_what_is_no_matrix() -> None:
    assert_refused(
        Case("Trilu", 14, [f32([1])], [...]),
        r"the input must have rank >= 2 \(\[\.\.\., n, m\]\); got rank 1",
    )
    assert_contradiction(
        make_inference("Trilu", 14, [floats(1)]),
        r"the input must have rank >= 2 \(\[\.\.\., n, m\]\); got rank 1",
    )


def test_the_type_stays() -> None:
    assert infer_types(make_inference("Trilu", 14, [floats(N, 3, None)])) == [floats(N, 3, None)]

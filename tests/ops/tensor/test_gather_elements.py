import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    infer_elements,
    infer_shape,
    ints,
    make_inference,
    samples,
    vec,
)
from sardonyx._src.ir import TensorType

SQUARE = f32([[1, 2, 3], [4, 5, 6], [7, 8, 9]])

CASES = [
    Case(
        "GatherElements",
        11,
        [f32([[1, 2], [3, 4]]), i64([[0, 0], [1, 0]])],
        [f32([[1, 1], [4, 3]])],
        {"axis": 1},
    ),
    Case(
        "GatherElements",
        13,
        [SQUARE, i64([[1, 2, 0], [2, 0, 0]])],
        [f32([[4, 8, 3], [7, 2, 3]])],
        label="axis 0",
    ),
    Case(
        "GatherElements", 13, [SQUARE, i64([[-1, -2, 0]])], [f32([[7, 5, 3]])], label="indices from the back"
    ),
    Case(
        "GatherElements", 13, [SQUARE, i64([[2, 0]])], [f32([[3, 1]])], {"axis": -1}, "fewer lines than data"
    ),
    Case(
        "GatherElements",
        13,
        [SQUARE, np.array([[2, 0]], np.int32)],
        [f32([[7, 2]])],
        label="int32, fewer columns",
    ),
    Case(
        "GatherElements",
        13,
        [SQUARE, np.zeros((0, 3), np.int64)],
        [np.zeros((0, 3), np.float32)],
        label="no index",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [11, 13])
def test_every_element_type(version: int) -> None:
    for x in samples("GatherElements", version):
        assert_case(Case("GatherElements", version, [x, i64([3, 0, 0])], [x[[3, 0, 0]]]))


def test_refuses_indices_that_do_not_fit() -> None:
    assert_refused(
        Case("GatherElements", 13, [SQUARE, i64([[3]])], [...]), r"indices must be in \[-3, 3\); got 3"
    )
    assert_refused(
        Case("GatherElements", 13, [SQUARE, i64([0])], [...]),
        "data and indices must have the same rank; got 2 and 1",
    )
    assert_refused(
        Case("GatherElements", 13, [SQUARE, i64([[0] * 4])], [...]), r"indices must .*; got \[1, 4\]"
    )
    assert_refused(
        Case("GatherElements", 13, [SQUARE, i64([[0]])], [...], {"axis": 2}), "axis 2 lies outside"
    )


def test_the_shape_is_that_of_the_indices() -> None:
    assert infer_shape(make_inference("GatherElements", 13, [floats(N, 3), ints(M, 2)])) == (M, 2)
    assert infer_shape(make_inference("GatherElements", 13, [TensorType(FLOAT), ints(M, 2)])) == (M, 2)
    assert infer_shape(make_inference("GatherElements", 13, [floats(N, 3), None])) == (None, None)
    assert infer_shape(make_inference("GatherElements", 13, [TensorType(FLOAT), None])) is None


def test_contradictions() -> None:
    assert_contradiction(
        make_inference("GatherElements", 13, [floats(N, 3), ints(M)]),
        "data and indices must have the same rank; got 2 and 1",
    )
    assert_contradiction(
        make_inference("GatherElements", 13, [floats(N, 3), ints(1, 4)]),
        "indices must have at most 3 entries along axis 1; got 4",
    )


def test_known_elements_are_picked() -> None:
    assert infer_elements(
        make_inference("GatherElements", 13, [ints(2), ints(2)], {0: vec(N, 3), 1: i64([1, 1])})
    ) == [3, 3]
    assert infer_elements(
        make_inference("GatherElements", 13, [ints(2), ints(2)], {0: vec(N, 3), 1: i64([-2, 1])})
    ) == [N, 3]
    assert infer_elements(make_inference("GatherElements", 13, [ints(2), ints(2)], {0: vec(N, 3)})) is None


@given(st.integers(0, 2), st.data())
def test_each_index_selects_at_its_own_position(axis: int, data: st.DataObject) -> None:
    x = np.arange(24).reshape(2, 3, 4)
    places = [data.draw(st.integers(-x.shape[axis], x.shape[axis] - 1)) for _ in range(24)]
    indices = i64(places).reshape(2, 3, 4)
    expected = np.empty_like(x)
    for place in np.ndindex(x.shape):
        source = list(place)
        source[axis] = indices[place]
        expected[place] = x[tuple(source)]
    assert_case(Case("GatherElements", 13, [x, indices], [expected], {"axis": axis}))

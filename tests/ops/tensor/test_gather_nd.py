import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    M,
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
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
from sardonyx._src.errors import InferenceError
from sardonyx._src.ir import TensorType

SQUARE = f32([[0, 1], [2, 3]])
CUBE = f32([[[0, 1], [2, 3]], [[4, 5], [6, 7]]])

CASES = [
    *(
        Case("GatherND", v, [SQUARE, i64([[0, 0], [1, 1]])], [f32([0, 3])], label="elements")
        for v in (11, 12, 13)
    ),
    Case("GatherND", 11, [SQUARE, i64([[1], [0]])], [f32([[2, 3], [0, 1]])], label="lines"),
    Case("GatherND", 11, [CUBE, i64([[0, 1], [1, 0]])], [f32([[2, 3], [4, 5]])], label="parts"),
    Case(
        "GatherND",
        12,
        [CUBE, i64([[[0, 1]], [[1, 0]]])],
        [f32([[[2, 3]], [[4, 5]]])],
        label="tuples of rank 3",
    ),
    Case("GatherND", 12, [CUBE, i64([[1], [0]])], [f32([[2, 3], [4, 5]])], {"batch_dims": 1}, "batch"),
    Case(
        "GatherND",
        13,
        [CUBE, i64([[[1], [0]], [[0], [0]]])],
        [f32([[[2, 3], [0, 1]], [[4, 5], [4, 5]]])],
        {"batch_dims": 1},
        "batch of lists",
    ),
    Case(
        "GatherND",
        13,
        [CUBE, i64([[[1], [0]], [[0], [1]]])],
        [f32([[1, 2], [4, 7]])],
        {"batch_dims": 2},
        "two axes",
    ),
    Case("GatherND", 13, [SQUARE, i64([[-1, -2]])], [f32([2])], label="from the back"),
    Case("GatherND", 13, [SQUARE, i64([1, 0])], [f32(2)], label="one tuple"),
    Case("GatherND", 13, [SQUARE, np.zeros((0, 2), np.int64)], [f32([])], label="no tuple"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [11, 12, 13])
def test_every_element_type(version: int) -> None:
    for x in samples("GatherND", version):
        assert_case(Case("GatherND", version, [x, i64([[3], [0]])], [x[[3, 0]]]))


def test_refuses_indices_that_do_not_fit() -> None:
    assert_refused(
        Case("GatherND", 13, [SQUARE, i64([[0, 2]])], [...]), r"indices must be in \[-2, 2\); got 2"
    )
    assert_refused(
        Case("GatherND", 13, [SQUARE, i64([[0, 0, 0]])], [...]),
        "index tuples must have 1 to 2 entries; got 3",
    )
    assert_refused(
        Case("GatherND", 13, [SQUARE, np.zeros((2, 0), np.int64)], [...]),
        "index tuples must have 1 to 2 entries; got 0",
    )
    assert_refused(
        Case("GatherND", 13, [SQUARE, i64([[0]])], [...], {"batch_dims": 1}),
        r"data and indices must .*; got \[2, 2\] and \[1, 1\]",
    )
    assert_refused(
        Case("GatherND", 13, [SQUARE, i64([0])], [...], {"batch_dims": 1}),
        r"batch_dims must be in \[0, 1\), below both ranks; got 1",
    )


def test_batch_axes_leave_fewer_to_pick_from() -> None:
    assert_refused(
        Case("GatherND", 13, [SQUARE, i64([[0, 0]] * 2)], [...], {"batch_dims": 1}),
        "index tuples must have 1 to 1 entries; got 2",
    )
    assert_contradiction(
        make_inference("GatherND", 13, [floats(2, 3), ints(2, 2)], batch_dims=1),
        "index tuples must have 1 to 1 entries; got 2",
    )


def test_refuses_a_result_that_is_too_large() -> None:
    indices = np.broadcast_to(i64(0), (1 << 20, 1 << 20, 1))
    assert_too_large(Case("GatherND", 13, [SQUARE, indices], [...]))


def test_symbolic_sizes() -> None:
    assert infer_shape(make_inference("GatherND", 13, [floats(N, 3, M), ints(5, 2)])) == (5, M)
    assert infer_shape(make_inference("GatherND", 13, [floats(N, 3, M), ints(N, 7, 1)], batch_dims=1)) == (
        N,
        7,
        M,
    )
    assert infer_shape(make_inference("GatherND", 13, [floats(4, 3), ints(N, 1)], batch_dims=1)) == (4,)
    assert infer_shape(make_inference("GatherND", 13, [floats(N, 3, M), ints(5, None)])) is None
    assert infer_shape(make_inference("GatherND", 13, [TensorType(FLOAT), ints(5, 2)])) is None


def test_contradictions() -> None:
    assert_contradiction(
        make_inference("GatherND", 13, [floats(2), ints(5, 2)]),
        "index tuples must have 1 to 1 entries; got 2",
    )
    assert_contradiction(
        make_inference("GatherND", 13, [floats(2, 3), ints(4, 1)], batch_dims=1), "sizes 2 and 4"
    )
    assert_contradiction(
        make_inference("GatherND", 13, [floats(2, 3), ints(4)], batch_dims=1),
        r"batch_dims must be in \[0, 1\), below both ranks; got 1",
    )


def test_known_elements_are_picked() -> None:
    assert infer_elements(
        make_inference("GatherND", 13, [ints(2), ints(1, 1)], {0: vec(N, 3), 1: i64([[1]])})
    ) == [3]
    assert (
        infer_elements(make_inference("GatherND", 13, [ints(2), ints(1)], {0: vec(N, 3), 1: i64([0])})) == N
    )
    assert infer_elements(make_inference("GatherND", 13, [ints(2), ints(1, 1)], {0: vec(N, 3)})) is None
    assert (
        infer_elements(
            make_inference("GatherND", 13, [ints(2), ints(5000, 1)], {0: vec(N, 3), 1: i64([[0]] * 5000)})
        )
        is None
    )
    with pytest.raises(InferenceError, match=r"indices must be in \[-2, 2\); got 2"):
        infer_elements(make_inference("GatherND", 13, [ints(2), ints(1, 1)], {0: vec(N, 3), 1: i64([[2]])}))

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
    infer_types,
    ints,
    make_inference,
    samples,
    strs,
    vec,
)
from sardonyx._src.errors import InferenceError
from sardonyx._src.ir import TensorType

TALL = f32([[1, 2], [3, 4], [5, 6]])

CASES = [
    Case("Gather", 1, [TALL, i64([[0, 1], [1, 2]])], [f32([[[1, 2], [3, 4]], [[3, 4], [5, 6]]])]),
    Case("Gather", 11, [TALL, i64([[1, 0]])], [f32([[[2, 1]], [[4, 3]], [[6, 5]]])], {"axis": 1}, "axis 1"),
    Case("Gather", 13, [TALL, i64([1])], [f32([[2], [4], [6]])], {"axis": -1}, "axis from the back"),
    Case("Gather", 13, [TALL, i64([-1, -3])], [f32([[5, 6], [1, 2]])], label="indices from the back"),
    Case("Gather", 1, [TALL, np.array([-1], np.int32)], [f32([[5, 6]])], label="int32 indices from the back"),
    Case("Gather", 13, [TALL, i64(1)], [f32([3, 4])], label="scalar index"),
    Case("Gather", 13, [strs(["a", "b"]), i64(1)], [strs("b")], label="to a scalar string"),
    Case(
        "Gather", 13, [TALL, np.zeros((0, 2), np.int64)], [np.zeros((0, 2, 2), np.float32)], label="no index"
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 11, 13])
def test_every_element_type(version: int) -> None:
    for x in samples("Gather", version):
        assert_case(Case("Gather", version, [x, i64([3, 0, 0])], [x[[3, 0, 0]]]))


@pytest.mark.parametrize("index", [3, -4, 2**40])
def test_refuses_indices_out_of_bounds(index: int) -> None:
    assert_refused(
        Case("Gather", 13, [TALL, i64([0, index])], [...]), rf"indices must be in \[-3, 3\); got {index}"
    )
    assert_contradiction(
        make_inference("Gather", 13, [floats(3, N), ints(2)], {1: i64([0, index])}),
        r"indices must be in \[-3, 3\)",
    )


def test_rejects_an_axis_out_of_range() -> None:
    assert_refused(Case("Gather", 13, [TALL, i64(0)], [...], {"axis": 2}), "axis 2 lies outside of rank 2")
    assert_refused(Case("Gather", 13, [f32(1), i64(0)], [...]), "data must have rank >= 1; got a scalar")
    assert_refused(
        Case("Gather", 13, [np.zeros((0, 2), np.float32), i64([0])], [...]),
        r"indices must be in \[0, 0\); got 0",
    )


def test_refuses_a_result_that_is_too_large() -> None:
    indices = np.broadcast_to(i64(0), (1 << 20, 1 << 20))
    assert_too_large(Case("Gather", 13, [TALL, indices], [...]))


def test_the_shape_of_the_indices_replaces_the_axis() -> None:
    assert infer_shape(make_inference("Gather", 13, [floats(N, 3, M), ints(2, N)], axis=1)) == (N, 2, N, M)
    assert infer_shape(make_inference("Gather", 13, [floats(N, 3), ints()], axis=-1)) == (N,)
    assert infer_shape(make_inference("Gather", 13, [TensorType(FLOAT), ints(2)])) is None
    assert infer_types(make_inference("Gather", 13, [floats(N), None])) == [TensorType(FLOAT)]


def test_known_elements_are_picked() -> None:
    data = vec(N, 3, M)
    assert infer_elements(make_inference("Gather", 13, [ints(3), ints()], {0: data, 1: i64(0)})) == N
    assert infer_elements(make_inference("Gather", 13, [ints(3), ints()], {0: data, 1: i64(1)})) == 3
    assert infer_elements(make_inference("Gather", 13, [ints(3), ints(2)], {0: data, 1: i64([-1, 0])})) == [
        M,
        N,
    ]
    assert infer_elements(make_inference("Gather", 13, [ints(3), ints(1)], {0: data})) is None
    assert infer_elements(make_inference("Gather", 13, [None, ints(1)], {0: data, 1: i64([1])})) == [3]
    assert infer_elements(make_inference("Gather", 13, [ints(3), ints(1)], {1: i64([0])})) == [None]
    assert (
        infer_elements(make_inference("Gather", 13, [ints(3), ints(5000)], {0: data, 1: i64([0] * 5000)}))
        is None
    )
    with pytest.raises(InferenceError, match=r"indices must be in \[-3, 3\); got 3"):
        infer_elements(make_inference("Gather", 13, [ints(3), ints(1)], {0: data, 1: i64([3])}))

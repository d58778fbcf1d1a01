import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    INT64,
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
    strs,
    vec,
)
from sardonyx._src.ir import TensorType

COLUMN = f32([[1], [2]])

CASES = [
    Case("Expand", 8, [COLUMN, i64([2, 3])], [f32([[1, 1, 1], [2, 2, 2]])]),
    Case("Expand", 13, [COLUMN, i64([2, 1, 1])], [f32([[[1], [2]], [[1], [2]]])], label="new axis"),
    Case("Expand", 13, [COLUMN, i64([3])], [f32([[1, 1, 1], [2, 2, 2]])], label="shorter shape"),
    Case("Expand", 13, [COLUMN, i64([1, 1])], [COLUMN], label="1 keeps the size"),
    Case("Expand", 13, [f32(5), i64([2])], [f32([5, 5])], label="scalar"),
    Case("Expand", 13, [strs("a"), i64([])], [strs("a")], label="scalar to scalar"),
    Case("Expand", 13, [COLUMN, i64([2, 0])], [np.zeros((2, 0), np.float32)], label="to nothing"),
    Case("Expand", 13, [f32([]), i64([2, 1])], [np.zeros((2, 0), np.float32)], label="from nothing"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [8, 13])
def test_every_element_type(version: int) -> None:
    for x in samples("Expand", version):
        assert_case(
            Case(
                "Expand", version, [x.reshape(4, 1), i64([1, 2])], [x[[0, 0, 1, 1, 2, 2, 3, 3]].reshape(4, 2)]
            )
        )


def test_refuses_shapes_that_do_not_broadcast() -> None:
    assert_refused(
        Case("Expand", 13, [COLUMN, i64([3, 1])], [...]),
        r"shapes must broadcast to one; got \[2, 1\] and \[3, 1\]",
    )
    assert_refused(
        Case("Expand", 13, [COLUMN, i64([-1, 1])], [...]), r"sizes of the shape must be >= 0; got \[-1, 1\]"
    )
    assert_contradiction(
        make_inference("Expand", 13, [floats(2), ints(1)], {1: i64([3])}), "cannot be broadcast"
    )
    assert_contradiction(
        make_inference("Expand", 13, [floats(2), ints(1)], {1: i64([-1])}),
        r"sizes of the shape must be >= 0; got \(-1,\)",
    )


def test_refuses_a_result_that_is_too_large() -> None:
    assert_too_large(Case("Expand", 13, [COLUMN, i64([2, 1 << 40])], [...]))


def test_symbolic_sizes() -> None:
    assert infer_shape(make_inference("Expand", 13, [floats(1, 3), ints(2)], {1: vec(N, 1)})) == (N, 3)
    assert infer_shape(make_inference("Expand", 13, [floats(N, 1), ints(3)], {1: vec(M, 1, 4)})) == (M, N, 4)
    assert infer_shape(make_inference("Expand", 13, [floats(3), ints(2)])) == (None, 3)  # 1 or 3, which is 3
    assert infer_shape(make_inference("Expand", 13, [TensorType(FLOAT), ints(2)])) is None


def test_known_elements_are_repeated() -> None:
    assert infer_elements(make_inference("Expand", 13, [ints(1), ints(1)], {0: vec(N), 1: i64([3])})) == [
        N,
        N,
        N,
    ]
    assert (
        infer_elements(make_inference("Expand", 13, [ints(1), ints(1)], {0: vec(N), 1: i64([5000])})) is None
    )
    assert infer_elements(make_inference("Expand", 13, [ints(1), ints(1)], {0: vec(N), 1: vec(N)})) is None
    assert (
        infer_elements(make_inference("Expand", 13, [TensorType(INT64), ints(1)], {0: vec(N), 1: i64([2])}))
        is None
    )
    assert infer_elements(make_inference("Expand", 13, [None, ints(1)], {0: vec(N), 1: i64([2])})) is None

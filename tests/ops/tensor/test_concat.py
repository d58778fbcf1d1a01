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
    infer_elements,
    infer_shape,
    infer_types,
    ints,
    make_inference,
    samples,
    vec,
)
from sardonyx._src.ir import TensorType

A, B = f32([[1, 2]]), f32([[3, 4]])

CASES = [
    Case("Concat", 1, [A, B], [f32([[1, 2, 3, 4]])], label="axis 1 by default"),
    Case("Concat", 1, [A, B], [f32([[1, 2], [3, 4]])], {"axis": 0}),
    Case("Concat", 4, [A, B], [f32([[1, 2], [3, 4]])], {"axis": 0}),
    Case("Concat", 11, [A, B], [f32([[1, 2, 3, 4]])], {"axis": -1}, "axis from the back"),
    Case("Concat", 13, [A, B, A], [f32([[1, 2], [3, 4], [1, 2]])], {"axis": -2}, "three"),
    Case("Concat", 13, [A], [A], {"axis": 0}, "one"),
    Case("Concat", 13, [A, np.zeros((1, 0), np.float32)], [A], {"axis": 1}, "empty part"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 4, 11, 13])
def test_every_element_type(version: int) -> None:
    for x in samples("Concat", version):
        assert_case(Case("Concat", version, [x[:1], x[1:]], [x], {"axis": 0}))


def test_refuses_parts_that_do_not_fit() -> None:
    assert_refused(
        Case("Concat", 13, [A, f32([1])], [...], {"axis": 0}),
        r"inputs must have the same rank; got shapes \(1, 2\), \(1,\)",
    )
    assert_refused(
        Case("Concat", 13, [A, f32([[1]])], [...], {"axis": 0}), r"inputs must .*; got \(1, 2\), \(1, 1\)"
    )
    assert_refused(Case("Concat", 13, [A, B], [...], {"axis": 2}), "axis 2 lies outside of rank 2")
    assert_refused(Case("Concat", 13, [f32(1), f32(2)], [...], {"axis": 0}), "axis 0 lies outside of rank 0")


def test_symbolic_sizes_add_up() -> None:
    assert infer_shape(make_inference("Concat", 13, [floats(N, 3), floats(M, 3)], axis=0)) == (N + M, 3)
    assert infer_shape(make_inference("Concat", 13, [floats(N, 3), floats(2, None)], axis=0)) == (N + 2, 3)
    assert infer_shape(make_inference("Concat", 13, [floats(N, 3), floats(None, 3)], axis=0)) == (None, 3)
    assert infer_shape(make_inference("Concat", 1, [floats(4, N), floats(4, 2)])) == (4, N + 2)


def test_the_other_axes_complete_each_other() -> None:
    assert infer_shape(make_inference("Concat", 13, [floats(N, 3), floats(5, None)], axis=1)) == (5, None)
    assert infer_shape(make_inference("Concat", 13, [floats(None, 3), TensorType(FLOAT)], axis=1)) == (
        None,
        None,
    )
    assert infer_types(make_inference("Concat", 13, [None, floats(2)], axis=0)) == [floats(None)]
    assert infer_types(make_inference("Concat", 13, [None, None], axis=0)) == [None]


def test_contradictions() -> None:
    assert_contradiction(make_inference("Concat", 13, [floats(2, 3), floats(4, 5)], axis=0), "sizes 3 and 5")
    assert_contradiction(
        make_inference("Concat", 13, [floats(2), floats(4, 5)], axis=0),
        "inputs must have the same rank; got 1, 2",
    )
    assert_contradiction(make_inference("Concat", 13, [floats(2), floats(4)], axis=1), "axis 1 lies outside")


def test_known_elements_are_joined_with_unknown_ones() -> None:
    assert infer_elements(
        make_inference("Concat", 13, [ints(1), ints(2)], {0: vec(N), 1: vec(2, 3)}, axis=0)
    ) == [N, 2, 3]
    assert infer_elements(make_inference("Concat", 13, [ints(1), ints(2)], {0: vec(N)}, axis=0)) == [
        N,
        None,
        None,
    ]
    assert infer_elements(make_inference("Concat", 13, [ints(1), ints(None)], {0: vec(N)}, axis=0)) is None
    assert infer_elements(make_inference("Concat", 13, [ints(1), ints(1)], axis=0)) is None
    assert infer_elements(make_inference("Concat", 13, [ints(1), ints(1, 1)], {0: vec(N)}, axis=0)) is None
    assert (
        infer_elements(make_inference("Concat", 13, [ints(), ints()], {0: vec(N).reshape(())}, axis=0))
        is None
    )
    assert infer_elements(
        make_inference("Concat", 13, [ints(1), ints(0)], {0: vec(5), 1: np.empty(0, np.object_)}, axis=0)
    ) == [5]
    assert infer_elements(
        make_inference("Concat", 13, [ints(1), ints(1)], {0: i64([1]), 1: i64([2])}, axis=-1)
    ) == [1, 2]

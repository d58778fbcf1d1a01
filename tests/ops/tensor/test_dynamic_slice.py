import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    N,
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

X = f32([[1, 2, 3, 4], [5, 6, 7, 8]])

CASES = [
    Case("DynamicSlice", 1, [X, i64([1, 0]), i64([2, 3]), i64([0, 1])], [f32([[5, 6, 7]])]),
    Case("DynamicSlice", 1, [X, i64([0, 1]), i64([-1, 1000])], [f32([[2, 3, 4]])], label="no axes"),
    Case(
        "DynamicSlice",
        1,
        [X, *(np.array([n], np.int32) for n in (1, 2, 1))],
        [f32([[2], [6]])],
        label="int32",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_every_element_type() -> None:
    for x in samples("DynamicSlice", 1):
        assert_case(Case("DynamicSlice", 1, [x, i64([1]), i64([3])], [x[[1, 2]]]))


def test_refuses_lists_that_do_not_fit() -> None:
    assert_refused(
        Case("DynamicSlice", 1, [X, i64([1]), i64([2, 3])], [...]),
        r"starts, ends, axes and steps must .*; got \[1, 2, 1, 1\]",
    )


def test_symbolic_sizes_and_known_elements() -> None:
    known = {1: i64([0]), 2: i64([2]), 3: i64([1])}
    assert infer_shape(
        make_inference("DynamicSlice", 1, [floats(N, 3), ints(1), ints(1), ints(1)], known)
    ) == (N, 2)
    assert infer_elements(
        make_inference(
            "DynamicSlice", 1, [ints(3)] + [ints(1)] * 2, {0: vec(N, 2, 3), 1: i64([0]), 2: i64([1])}
        )
    ) == [N]

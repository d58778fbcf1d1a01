import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    M,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    infer_shape,
    make_inference,
)

# Batch and columns are the axes of one channel: channel 0 holds 1, 3, 5, 7 and channel 1 holds 2, 2, 2, 2.
X = f32([[[[1, 3]], [[2, 2]]], [[[5, 7]], [[2, 2]]]])
Y = f32([[[[-3, -1]], [[0, 0]]], [[[1, 3]], [[0, 0]]]]) / np.sqrt(np.float32(5))
ALL = (X - 3) / np.sqrt(np.float32(3.5))  # 24 / 8 is the mean, 100 / 8 - 9 the variance
OP = "MeanVarianceNormalization"

CASES = [
    *(Case(OP, v, [X], [Y]) for v in (1, 9, 13)),
    *(Case(OP, v, [X], [ALL], {"axes": [0, 1, 2, 3]}) for v in (9, 13)),
    Case(OP, 1, [X], [ALL], {"across_channels": 1}),
    Case(OP, 1, [X], [Y * np.sqrt(np.float32(5))], {"normalize_variance": 0}),
    Case(OP, 1, [X], [X - 3], {"normalize_variance": 0, "across_channels": 1}),
    Case(OP, 13, [f32([[1, 3], [2, 2]])], [f32([[-1, 1], [0, 0]])], {"axes": [-1]}, "negative axis"),
    Case(OP, 13, [f32([1e4, 1e4 + 2])], [f32([-1, 1])], {"axes": [0]}, "a mean far from 0"),
    Case(OP, 13, [X[:0]], [X[:0]], {"axes": [1, 2, 3]}, "empty"),
    *(Case(OP, 13, [X.astype(d)], [Y.astype(d)], label=np.dtype(d).name) for d in (np.float16, ml_dtypes.bfloat16)),
    *(Case(OP, v, [X.astype(np.float16)], [Y.astype(np.float16)], label="float16") for v in (1, 9)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_axes_that_the_input_lacks_are_refused() -> None:
    assert_refused(Case(OP, 13, [X[0]], [X]), "axes 3 lies outside of rank 3")
    assert_refused(Case(OP, 1, [f32([1])], [X]), "rank 1")


def test_shape_is_kept_and_axes_are_checked() -> None:
    assert infer_shape(make_inference(OP, 13, [floats(N, M, 3, 4)])) == (N, M, 3, 4)
    assert_contradiction(make_inference(OP, 9, [floats(N, M, 3)]), "axis 3")
    assert_contradiction(make_inference(OP, 1, [floats(N)]), "rank 1")

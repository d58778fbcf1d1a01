import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    infer_shape,
    make_inference,
)

X = f32([[[1], [3], [3], [7]]])  # in two groups: means 2 and 5, deviations 1 and 2
UNIT = f32([[[-1], [1], [-1], [1]]])
E = {"epsilon": 1e-12, "num_groups": 2}
BY_CHANNEL = [f32([1, 2, 3, 4]), f32([10, 20, 30, 40])]
BY_GROUP = [f32([2, 3]), f32([10, 20])]
HALF, BF = np.float16, ml_dtypes.bfloat16

CASES = [
    Case("GroupNormalization", 18, [X, *BY_GROUP], [f32([[[8], [12], [17], [23]]])], E),
    Case("GroupNormalization", 21, [X, *BY_CHANNEL], [f32([[[9], [22], [27], [44]]])], E),
    Case("GroupNormalization", 21, [X, *BY_CHANNEL], [f32([[[10], [20], [30], [40]]])], {"num_groups": 4}, "one channel each"),
    Case("GroupNormalization", 18, [f32([[1], [3]]).T, f32([1]), f32([0])], [f32([[-1, 1]])], {**E, "num_groups": 1}, "one group"),
    Case("GroupNormalization", 18, [f32([[1, 3]]), f32([1]), f32([0])], [f32([[-0.5, 0.5]])], {"num_groups": 1, "epsilon": 3.0}, "epsilon"),
    Case("GroupNormalization", 18, [X.astype(HALF), *[p.astype(HALF) for p in BY_GROUP]], [np.array([[[8], [12], [17], [23]]], HALF)], E),
    Case("GroupNormalization", 21, [X.astype(BF), *[p.astype(BF) for p in BY_CHANNEL]], [np.array([[[9], [22], [27], [44]]], BF)], E),
    Case("GroupNormalization", 21, [X.astype("f8"), *[p.astype("f8") for p in BY_CHANNEL]], [np.array([[[9.0], [22], [27], [44]]])], {**E, "stash_type": 11, "epsilon": 1e-30}),
    Case("GroupNormalization", 21, [np.array([[300, -300]], HALF), np.ones(2, HALF), np.zeros(2, HALF)], [np.array([[1, -1]], HALF)], {"num_groups": 1}, "statistics in float"),
    Case("GroupNormalization", 21, [np.zeros((0, 4, 2), np.float32), *BY_CHANNEL], [np.zeros((0, 4, 2), np.float32)], E, "no instances"),
    Case("GroupNormalization", 18, [np.zeros((0, 4, 2), np.float32), *BY_GROUP], [np.zeros((0, 4, 2), np.float32)], E, "no instances"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(seed=st.integers(0, 20), groups=st.integers(1, 3), each=st.integers(1, 3))
def test_each_group_has_mean_0_and_variance_1(seed: int, groups: int, each: int) -> None:
    x = np.random.default_rng(seed).normal(3, 2, (2, groups * each, 4)).astype(np.float32)
    grouped = x.astype(np.float64).reshape(2, groups, -1)
    y = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)
    expected = y.reshape(x.shape).astype(np.float32)
    ones, zeros = np.ones(9, np.float32), np.zeros(9, np.float32)
    channels = groups * each
    assert_case(
        Case("GroupNormalization", 18, [x, ones[:groups], zeros[:groups]], [expected], {"num_groups": groups})
    )
    assert_case(
        Case(
            "GroupNormalization",
            21,
            [x, ones[:channels], zeros[:channels]],
            [expected],
            {"num_groups": groups},
        )
    )


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (
            Case("GroupNormalization", 21, [X, *BY_CHANNEL], [...], {"num_groups": 3}),
            r"x must .*; got shape \[1, 4, 1\] and num_groups 3",
        ),
        (
            Case("GroupNormalization", 21, [X, *BY_GROUP], [...], {"num_groups": 2}),
            r"scale must have shape \[4\]; got \[2\]",
        ),
        (
            Case("GroupNormalization", 18, [X, *BY_CHANNEL], [...], {"num_groups": 2}),
            r"scale must have shape \[2\]; got \[4\]",
        ),
        (Case("GroupNormalization", 18, [f32([1]), *BY_GROUP], [...], {"num_groups": 1}), r"shape \[1\]"),
        (
            Case("GroupNormalization", 21, [X, *BY_CHANNEL], [...], {"num_groups": 2, "stash_type": 2}),
            "stash_type",
        ),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_inference() -> None:
    assert infer_shape(
        make_inference("GroupNormalization", 21, [floats(N, 4, None), floats(4), None], num_groups=2)
    ) == (
        N,
        4,
        None,
    )
    assert infer_shape(
        make_inference("GroupNormalization", 18, [floats(N, 4), floats(2), None], num_groups=2)
    ) == (N, 4)
    assert_contradiction(
        make_inference("GroupNormalization", 21, [floats(N, 4)], num_groups=3),
        "num_groups must divide the 4 channels; got 3",
    )
    assert_contradiction(
        make_inference("GroupNormalization", 21, [floats(N, 4), floats(2)], num_groups=2),
        "input 1 must have 4 elements; got 2",
    )
    assert_contradiction(
        make_inference("GroupNormalization", 18, [floats(N, 4), floats(4)], num_groups=2),
        "input 1 must have 2 elements; got 4",
    )
    assert_contradiction(
        make_inference("GroupNormalization", 21, [floats(N, 4)], num_groups=0),
        "num_groups must be >= 1; got 0",
    )
    assert_contradiction(make_inference("GroupNormalization", 21, [floats(4)], num_groups=2), "rank 1")

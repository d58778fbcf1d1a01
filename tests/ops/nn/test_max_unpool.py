import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
    f32,
    floats,
    i64,
    infer_shape,
    ints,
    make_inference,
    vec,
)
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.inference import Inference

H = symbol("H")
X = f32([[[7, 8]]])
AT = i64([[[1, 2]]])
PAIRS = {"kernel_shape": [2], "strides": [2]}
VERSIONS = (9, 11, 22)

CASES = [
    *(Case("MaxUnpool", v, [X, AT], [f32([[[0, 7, 8, 0]]])], PAIRS) for v in VERSIONS),
    *(Case("MaxUnpool", v, [X, AT, i64([1, 1, 6])], [f32([[[0, 7, 8, 0, 0, 0]]])], PAIRS, "larger") for v in VERSIONS),
    Case("MaxUnpool", 11, [X, AT], [f32([[[0, 7, 8]]])], {"kernel_shape": [2]}, "stride 1"),
    Case("MaxUnpool", 11, [X, AT], [f32([[[0, 7, 8]]])], {**PAIRS, "pads": [1, 0]}, "pads"),
    Case("MaxUnpool", 11, [X, AT, i64([1, 1, 3])], [f32([[[0, 7, 8]]])], {**PAIRS, "pads": [0, 0]}, "smaller"),
    Case("MaxUnpool", 11, [X, AT, i64([1, 1, 4])], [f32([[[0, 7, 8, 0]]])], {**PAIRS, "pads": [1, 1]}, "pads void"),
    Case(
        "MaxUnpool",
        9,
        [f32([[[[1, 2], [3, 4]]]]), i64([[[[5, 7], [13, 15]]]]), i64([1, 1, 5, 5])],
        [f32([[[[0] * 5, [0, 1, 0, 2, 0], [0] * 5, [0, 3, 0, 4, 0], [0] * 5]]])],
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        "indices do not count in the larger shape",
    ),
    Case(
        "MaxUnpool", 22, [f32([[[1], [2]]]), i64([[[1], [2]]])], [f32([[[0, 1], [2, 0]]])], PAIRS, "across channels"
    ),
    Case("MaxUnpool", 11, [X.astype(np.float16), AT], [np.array([[[0, 7, 8, 0]]], np.float16)], PAIRS),
    Case("MaxUnpool", 22, [X.astype(ml_dtypes.bfloat16), AT], [np.array([[[0, 7, 8, 0]]], ml_dtypes.bfloat16)], PAIRS),
    Case("MaxUnpool", 9, [X.astype(np.float64), AT], [np.array([[[0.0, 7, 8, 0]]])], PAIRS),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(rows=st.integers(1, 3), columns=st.integers(1, 3), seed=st.integers(0, 9))
def test_it_puts_back_what_max_pool_took(rows: int, columns: int, seed: int) -> None:
    """With windows that do not overlap, the maxima are at their original positions, and all else is zero."""
    x = 1 + np.random.default_rng(seed).permutation(2 * 2 * 4 * rows * columns).astype(np.float32)
    x = x.reshape(2, 2, 2 * rows, 2 * columns)
    blocks = x.reshape(2, 2, rows, 2, columns, 2)
    top = blocks.max((3, 5), keepdims=True)
    expected = np.where(blocks == top, blocks, 0).reshape(x.shape)
    pooled = top.reshape(2, 2, rows, columns)
    indices = np.flatnonzero(expected)[np.argsort(np.argsort(pooled.reshape(-1)))]
    order = np.argsort(expected[expected > 0])
    indices = np.flatnonzero(expected)[order][np.argsort(np.argsort(pooled.reshape(-1)))].reshape(
        pooled.shape
    )
    assert_case(
        Case("MaxUnpool", 22, [pooled, indices], [expected], {"kernel_shape": [2, 2], "strides": [2, 2]})
    )


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (
            Case("MaxUnpool", 11, [X, i64([[[1, 4]]])], [...], PAIRS),
            r"indices must lie in \[0, 4\); got 1 to 4",
        ),
        (
            Case("MaxUnpool", 11, [X, i64([[[-1, 2]]])], [...], PAIRS),
            r"indices must lie in \[0, 4\); got -1 to 2",
        ),
        (
            Case("MaxUnpool", 11, [X, i64([[[1]]])], [...], PAIRS),
            r"x and indices must .*; got \[1, 1, 2\] and \[1, 1, 1\]",
        ),
        (Case("MaxUnpool", 11, [X, AT], [...], {"kernel_shape": [2, 2]}), "of rank 4"),
        (
            Case("MaxUnpool", 11, [X, AT, i64([1, 2, 4])], [...], PAIRS),
            r"the result must have shape \[1, 1, \.\.\.\] of rank 3; got \[1, 2, 4\]",
        ),
        (
            Case("MaxUnpool", 11, [X, AT, i64([1, 1, -4])], [...], PAIRS),
            r"the result must have shape \[1, 1, \.\.\.\] of rank 3; got \[1, 1, -4\]",
        ),
        (Case("MaxUnpool", 11, [X, AT], [...], {**PAIRS, "pads": [1]}), "pads"),
        (
            Case("MaxUnpool", 11, [X, AT], [...], {**PAIRS, "pads": [3, 3]}),
            r"the result must have shape \[1, 1, \.\.\.\] of rank 3; got \[1, 1, -2\]",
        ),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_the_result_has_a_limit() -> None:
    assert_too_large(Case("MaxUnpool", 11, [X, AT, i64([1, 1, 1 << 40])], [...], PAIRS))


def test_sizes_by_attributes() -> None:
    assert infer_shape(
        make_inference("MaxUnpool", 11, [floats(N, 3, H), None], kernel_shape=(3,), strides=(2,), pads=(1, 0))
    ) == (
        N,
        3,
        2 * H,
    )


def test_sizes_by_output_shape() -> None:
    inference = make_inference(
        "MaxUnpool", 11, [floats(N, 3, 2), None, None], {2: vec(N, 3, H)}, kernel_shape=(2,)
    )
    assert infer_shape(inference) == (N, 3, H)
    assert infer_shape(make_inference("MaxUnpool", 11, [floats(N, 3, 2), None, None], kernel_shape=(2,))) == (
        N,
        3,
        symbol("new0"),
    )
    assert infer_shape(
        make_inference("MaxUnpool", 11, [TensorType(FLOAT), None, None], kernel_shape=(2,))
    ) == (
        None,
        None,
        symbol("new0"),
    )


@pytest.mark.parametrize(
    ("inference", "match"),
    [
        (make_inference("MaxUnpool", 11, [floats(1, 1, 2), None], kernel_shape=(2, 2)), "rank 3"),
        (
            make_inference("MaxUnpool", 11, [floats(1, 1, 2), None, None], {2: vec(1, 4)}, kernel_shape=(2,)),
            "output_shape must have 3 entries; got 2",
        ),
        (
            make_inference("MaxUnpool", 11, [floats(1, 1, 2), None], kernel_shape=(2,), strides=(1, 1)),
            "strides",
        ),
        (
            make_inference("MaxUnpool", 9, [floats(1, 1, 2), ints()], kernel_shape=(2,)),
            "x and the indices differ in rank",
        ),
        (
            make_inference("MaxUnpool", 22, [floats(1, 1, 2), ints(1, 1, 3)], kernel_shape=(2,)),
            "x and the indices contradict",
        ),
    ],
)
def test_contradictions_are_found(inference: Inference, match: str) -> None:
    assert_contradiction(inference, match)

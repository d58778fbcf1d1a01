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

X = f32([[[1, 3], [3, 7]], [[10, 20], [0, 0]]])  # deviations 1, 2, 5 and 0
SCALE, BIAS = f32([2, 3]), f32([10, 20])
Y = f32([[[8, 12], [17, 23]], [[8, 12], [20, 20]]])
E = {"epsilon": 1e-12}
BF = ml_dtypes.bfloat16

CASES = [
    Case("InstanceNormalization", 1, [X[..., None], SCALE, BIAS], [Y[..., None]], {"consumed_inputs": [0, 0, 0], **E}),
    *(Case("InstanceNormalization", v, [X, SCALE, BIAS], [Y], E) for v in (6, 22)),
    Case("InstanceNormalization", 22, [f32([[[1, 3]]]), f32([1]), f32([0])], [f32([[[-0.5, 0.5]]])], {"epsilon": 3.0}, "epsilon"),
    Case("InstanceNormalization", 6, [X.astype(np.float16), SCALE.astype(np.float16), BIAS.astype(np.float16)], [Y.astype(np.float16)], E),
    Case("InstanceNormalization", 22, [X.astype(BF), SCALE.astype(BF), BIAS.astype(BF)], [Y.astype(BF)], E),
    Case("InstanceNormalization", 6, [X.astype("f8"), SCALE.astype("f8"), BIAS.astype("f8")], [Y.astype("f8")], {"epsilon": 1e-30}),
    Case("InstanceNormalization", 6, [f32([[7]]), f32([2]), f32([1])], [f32([[1]])], label="one element, no spatial axis"),
    Case("InstanceNormalization", 6, [np.zeros((0, 2, 3), np.float32), SCALE, BIAS], [np.zeros((0, 2, 3), np.float32)]),
    Case("InstanceNormalization", 6, [np.zeros((1, 2, 0), np.float32), SCALE, BIAS], [np.zeros((1, 2, 0), np.float32)]),
    Case("InstanceNormalization", 6, [f32([[[np.nan, 1], [1, 3]]]), SCALE, BIAS], [f32([[[np.nan, np.nan], [17, 23]]])], E, "NaN stays in its channel"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(seed=st.integers(0, 20), spatial=st.lists(st.integers(2, 4), min_size=1, max_size=3))
def test_each_channel_of_each_instance_has_mean_0_and_variance_1(seed: int, spatial: list[int]) -> None:
    x = np.random.default_rng(seed).normal(3, 2, (2, 3, *spatial))
    flat = x.reshape(2, 3, -1)
    y = ((flat - flat.mean(2, keepdims=True)) / flat.std(2, keepdims=True)).reshape(x.shape)
    assert_case(Case("InstanceNormalization", 22, [x, np.ones(3), np.zeros(3)], [y], {"epsilon": 0.0}))


def test_bad_values_are_refused() -> None:
    assert_refused(
        Case("InstanceNormalization", 22, [X, SCALE[:1], BIAS], [...]),
        r"scale must have shape \[2\]; got \[1\]",
    )
    assert_refused(
        Case("InstanceNormalization", 22, [X, SCALE, BIAS[:, None]], [...]),
        r"B must have shape \[2\]; got \[2, 1\]",
    )
    assert_refused(Case("InstanceNormalization", 22, [f32([1]), SCALE, BIAS], [...]), "rank 1")


def test_inference() -> None:
    assert infer_shape(
        make_inference("InstanceNormalization", 22, [floats(N, 3, None), floats(3), floats(3)])
    ) == (
        N,
        3,
        None,
    )
    assert_contradiction(
        make_inference("InstanceNormalization", 22, [floats(N, 3), floats(4)]),
        "input 1 must have 3 elements; got 4",
    )
    assert_contradiction(make_inference("InstanceNormalization", 22, [floats(N, 3), floats(3, 1)]), "rank 2")
    assert_contradiction(make_inference("InstanceNormalization", 22, [floats(N)]), "rank 1")

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
    f32,
    floats,
    infer_types,
    make_inference,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType

X = f32([[1, 3], [3, 7]])  # rows: means 2 and 5, deviations 1 and 2; both rows: mean 3.5, variance 19/4
UNIT = f32([[-1, 1], [-1, 1]])
TWO, ONE = f32([2, 2]), f32([1, 1])
E = {"epsilon": 1e-12}
BF = ml_dtypes.bfloat16
ALL = ((X - 3.5) / (19 / 4) ** 0.5).astype(np.float32)
HALF = np.float16

CASES = [
    Case("LayerNormalization", 17, [X, TWO], [UNIT * 2], E),
    Case("LayerNormalization", 17, [X, TWO, f32([10, 20])], [f32([[8, 22], [8, 22]])], E, "bias"),
    Case("LayerNormalization", 17, [X, ONE], [UNIT, f32([[2], [5]]), f32([[1], [0.5]])], E, "Mean and InvStdDev"),
    Case("LayerNormalization", 17, [X, f32(1)], [ALL, f32([[3.5]]), f32([[(4 / 19) ** 0.5]])], {"axis": 0, **E}),
    Case("LayerNormalization", 17, [X, ONE], [ALL], {"axis": -2, **E}, "negative axis"),
    Case("LayerNormalization", 17, [X, f32([[1], [10]])], [f32([[-1, 1], [-10, 10]])], E, "a scale that broadcasts"),
    Case("LayerNormalization", 17, [f32([[1, 3]]), ONE], [f32([[-0.5, 0.5]])], {"epsilon": 3.0}, "epsilon"),
    Case("LayerNormalization", 17, [f32([0, 2e-2]), ONE], [f32([-1, 1]) / f32(1.1**0.5)], label="1e-5 is the default"),
    Case("LayerNormalization", 17, [X.astype(HALF), ONE.astype(HALF)], [UNIT.astype(HALF), f32([[2], [5]]), f32([[1], [0.5]])], E, "statistics of type float"),
    Case("LayerNormalization", 17, [np.array([300, -300], HALF), ONE.astype(HALF)], [np.array([1, -1], HALF)], label="wider than float16"),
    Case("LayerNormalization", 17, [X.astype(BF), ONE.astype(BF)], [UNIT.astype(BF), np.array([[2], [5]], BF), np.array([[1], [0.5]], BF)], {"stash_type": 16, "epsilon": 0.0}),
    Case("LayerNormalization", 17, [np.array([1.0, 3]), np.array([2.0, 2])], [np.array([-2.0, 2]), f32([2]), f32([1])], {"epsilon": 0.0}, "double in float"),
    Case("LayerNormalization", 17, [np.zeros((0, 2), np.float32), ONE], [np.zeros((0, 2), np.float32), np.zeros((0, 1), np.float32)], label="no rows"),
    Case("LayerNormalization", 17, [f32([[np.nan, 1], [3, 7]]), ONE], [f32([[np.nan, np.nan], [-1, 1]])], E, "NaN stays in its row"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_stage_two_rounds_after_each_step() -> None:
    """1 * 2049/2048 rounds to 1 + 2^-10 * 0.5, to even 1, in float16; the bias 2^-11 then ties to even again."""
    scale = np.array([1 + 2**-10, 1], np.float16)
    bias = np.array([2**-11, 0], np.float16)
    x = np.array([3, 1], np.float16)  # normalized to exactly 1 and -1
    expected = np.array([1 + 2**-9, -1], np.float16)  # 1 + 2^-10 + 2^-11 is a tie; the even neighbor is above
    assert_case(Case("LayerNormalization", 17, [x, scale, bias], [expected], {"epsilon": 0.0}))


@given(seed=st.integers(0, 20), axis=st.integers(-3, 2))
def test_what_follows_the_axis_has_mean_0_and_variance_1(seed: int, axis: int) -> None:
    x = np.random.default_rng(seed).normal(3, 2, (2, 3, 4)).astype(np.float32)
    axes = tuple(range(axis % 3, 3))
    wide = x.astype(np.float64)
    y = (wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + 1e-5)
    assert_case(Case("LayerNormalization", 17, [x, f32(1)], [y.astype(np.float32)], {"axis": axis}))


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (Case("LayerNormalization", 17, [X, f32([1, 2, 3])], [...]), r"Scale must broadcast to \[2, 2\]; got shape \[3\]"),
        (Case("LayerNormalization", 17, [X, np.ones((1, 2, 2), np.float32)], [...]), r"Scale must broadcast to \[2, 2\]; got shape \[1, 2, 2\]"),
        (Case("LayerNormalization", 17, [X, ONE, f32([1, 2, 3])], [...]), r"B must broadcast to \[2, 2\]; got shape \[3\]"),
        (Case("LayerNormalization", 17, [X, ONE], [...], {"stash_type": 7}), r"stash_type must .*; got 7"),
    ],
)  # fmt: skip
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_statistics_have_size_1_from_the_axis_on() -> None:
    inference = make_inference(
        "LayerNormalization", 17, [TensorType(DataType.FLOAT16, (N, 3, 4))], outputs=3, axis=1
    )
    assert infer_types(inference) == [
        TensorType(DataType.FLOAT16, (N, 3, 4)),
        *[TensorType(FLOAT, (N, 1, 1))] * 2,
    ]
    assert infer_types(make_inference("LayerNormalization", 17, [floats(N, 3)], outputs=2, stash_type=16))[
        1
    ] == TensorType(DataType.BFLOAT16, (N, 1))


def test_contradictions_are_found() -> None:
    assert_contradiction(make_inference("LayerNormalization", 17, [floats(2, 3)], axis=2), "axis 2")
    assert_contradiction(
        make_inference("LayerNormalization", 17, [floats(2, 3), floats(4)]),
        "sizes of input 1 must be 1 or 3; got 4",
    )
    assert_contradiction(make_inference("LayerNormalization", 17, [floats(3), floats(1, 3)]), "rank 2")

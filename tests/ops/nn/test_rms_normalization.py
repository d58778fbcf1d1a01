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
from sardonyx._src.ops.nn.rms_normalization import eval_23

X = f32([[1, 7], [-6, 2]])  # rows: root mean squares 5 and sqrt(20); both rows: sqrt(90/4)
UNIT = f32([[0.2, 1.4], [-6 / 20**0.5, 2 / 20**0.5]])
ONE = f32([1, 1])
E = {"epsilon": 1e-12}
HALF, BF = np.float16, ml_dtypes.bfloat16

CASES = [
    Case("RMSNormalization", 23, [X, ONE], [UNIT], E),
    Case("RMSNormalization", 23, [X, f32([10, 100])], [UNIT * f32([10, 100])], E, "scale"),
    Case("RMSNormalization", 23, [X, f32([[1], [10]])], [UNIT * f32([[1], [10]])], E, "a scale that broadcasts"),
    Case("RMSNormalization", 23, [X, f32(1)], [X / f32(22.5**0.5)], {"axis": 0, **E}),
    Case("RMSNormalization", 23, [X, ONE], [X / f32(22.5**0.5)], {"axis": -2, **E}, "negative axis"),
    Case("RMSNormalization", 23, [f32([1, 7]), ONE], [f32([0.1, 0.7])], {"epsilon": 75.0}, "epsilon"),
    Case("RMSNormalization", 23, [f32([1e-2, 1e-2]), ONE], [ONE / f32(1.1**0.5)], label="1e-5 is the default"),
    Case("RMSNormalization", 23, [np.array([300, 300], HALF), ONE.astype(HALF)], [ONE.astype(HALF)], label="wider than float16"),
    Case("RMSNormalization", 23, [np.array([2, 2], BF), ONE.astype(BF)], [ONE.astype(BF)], {"stash_type": 16}),
    Case("RMSNormalization", 23, [np.array([2.0, 2]), np.array([3.0, 3])], [np.array([3.0, 3])], {"epsilon": 0.0}, "double in float"),
    Case("RMSNormalization", 23, [np.zeros((0, 2), np.float32), ONE], [np.zeros((0, 2), np.float32)], label="no rows"),
    Case("RMSNormalization", 23, [f32([np.nan, 1]), ONE], [f32([np.nan, np.nan])], label="NaN"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_the_result_has_the_type_of_the_scale() -> None:
    """The quotient is rounded to the type of x before it is scaled: 1/3 in float16 is 0.33325195."""
    x = np.array([1, 3, 5, 1], np.float16)  # root mean square 3
    inference = make_inference("RMSNormalization", 23, [TensorType(DataType.FLOAT16, (4,)), floats(1)])
    assert infer_types(inference) == [floats(4)]
    y = eval_23(x, f32([1]), axis=-1, epsilon=0.0, stash_type=1)
    assert y.dtype == np.float32
    assert y.tolist() == [0.333251953125, 1, 1.6669921875, 0.333251953125]


@given(seed=st.integers(0, 20), axis=st.integers(-3, 2))
def test_what_follows_the_axis_has_mean_square_1(seed: int, axis: int) -> None:
    x = np.random.default_rng(seed).normal(3, 2, (2, 3, 4)).astype(np.float32)
    wide = x.astype(np.float64)
    y = wide / np.sqrt(np.square(wide).mean(tuple(range(axis % 3, 3)), keepdims=True) + 1e-5)
    assert_case(Case("RMSNormalization", 23, [x, f32(1)], [y.astype(np.float32)], {"axis": axis}))


def test_bad_values_are_refused() -> None:
    assert_refused(
        Case("RMSNormalization", 23, [X, f32([1, 2, 3])], [...]),
        r"scale must broadcast to \[2, 2\]; got shape \[3\]",
    )
    assert_refused(
        Case("RMSNormalization", 23, [X, ONE], [...], {"stash_type": 9}), "stash_type must .*; got 9"
    )
    assert_refused(
        Case("RMSNormalization", 23, [X, ONE], [...], {"stash_type": 6}), "stash_type must .*; got 6"
    )


def test_inference() -> None:
    assert infer_types(make_inference("RMSNormalization", 23, [floats(N, 3), floats(3)])) == [floats(N, 3)]
    assert infer_types(make_inference("RMSNormalization", 23, [floats(N, 3), None])) == [None]
    assert infer_types(make_inference("RMSNormalization", 23, [None, floats(3)])) == [TensorType(FLOAT)]
    assert_contradiction(
        make_inference("RMSNormalization", 23, [floats(N, 3), floats(3)], axis=-3), "axis -3"
    )
    assert_contradiction(
        make_inference("RMSNormalization", 23, [floats(N, 3), floats(4)]),
        "sizes of input 1 must be 1 or 3; got 4",
    )

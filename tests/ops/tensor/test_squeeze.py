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
    strs,
    vec,
)
from sardonyx._src.ir import TensorType

X = f32([[[1], [2]]])
INPUT = (13, 21, 23, 24, 25)

CASES = [
    Case("Squeeze", 1, [X], [f32([[1], [2]])], {"axes": [0]}),
    Case("Squeeze", 1, [X], [f32([1, 2])], {"axes": [2, 0]}, "in any order"),
    Case("Squeeze", 1, [X], [f32([1, 2])], label="all of size 1"),
    Case("Squeeze", 11, [X], [f32([[1, 2]])], {"axes": [-1]}, "axis from the back"),
    *(Case("Squeeze", v, [X, i64([0, -1])], [f32([1, 2])]) for v in INPUT),
    Case("Squeeze", 13, [X], [f32([1, 2])], label="no axes"),
    Case("Squeeze", 13, [X, i64([])], [X], label="empty axes"),
    Case("Squeeze", 13, [strs([["a"]])], [strs("a")], label="to a scalar"),
    Case("Squeeze", 13, [np.zeros((1, 0), np.float32), i64([0])], [f32([])], label="empty"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 11, *INPUT])
def test_every_element_type(version: int) -> None:
    for x in samples("Squeeze", version):
        assert_case(Case("Squeeze", version, [x.reshape(4, 1)], [x]))


def test_refuses_axes_of_other_sizes() -> None:
    assert_refused(
        Case("Squeeze", 1, [X], [...], {"axes": [1]}),
        r"squeezed axes must have size 1; got axes \[1\] of shape \[1, 2, 1\]",
    )
    assert_refused(Case("Squeeze", 13, [X, i64([3])], [...]), "axes 3 lies outside of rank 3")
    assert_refused(Case("Squeeze", 13, [X, i64([0, -3])], [...]), "name an axis twice")
    assert_contradiction(
        make_inference("Squeeze", 13, [floats(1, 2), ints(1)], {1: i64([1])}),
        "squeezed axes must have size 1; got 2 for axis 1",
    )
    assert_contradiction(
        make_inference("Squeeze", 11, [floats(1, N + 2)], axes=(1,)),
        r"squeezed axes must have size 1; got N\+2 for axis 1",
    )


def test_symbols_stay() -> None:
    assert infer_shape(make_inference("Squeeze", 13, [floats(N, 1, M), ints(1)], {1: i64([1])})) == (N, M)
    assert infer_shape(make_inference("Squeeze", 1, [floats(N, M)], axes=(0,))) == (M,)
    assert infer_shape(make_inference("Squeeze", 13, [floats(N, M), ints(1)])) == (None,)
    assert infer_types(make_inference("Squeeze", 13, [floats(N, M), ints(None)])) == [TensorType(FLOAT)]
    assert infer_types(make_inference("Squeeze", 13, [TensorType(FLOAT), ints(1)], {1: i64([0])})) == [
        TensorType(FLOAT)
    ]


def test_without_axes_a_symbol_may_be_one() -> None:
    assert infer_shape(make_inference("Squeeze", 13, [floats(N, 1)])) is None
    assert infer_shape(make_inference("Squeeze", 13, [floats(N + 2, 1, 3)])) == (N + 2, 3)
    assert infer_shape(make_inference("Squeeze", 1, [floats(None, 1)])) is None


def test_known_elements_stay() -> None:
    assert infer_elements(make_inference("Squeeze", 13, [ints(1), ints(1)], {0: vec(N), 1: i64([0])})) == N
    assert infer_elements(make_inference("Squeeze", 11, [ints(1)], {0: vec(N)}, axes=(0,))) == N

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

X = f32([1, 2])
INPUT = (13, 21, 23, 24, 25)

CASES = [
    Case("Unsqueeze", 1, [X], [f32([[1, 2]])], {"axes": [0]}),
    Case("Unsqueeze", 1, [X], [f32([[[1], [2]]])], {"axes": [2, 0]}, "in any order"),
    Case("Unsqueeze", 11, [X], [f32([[1], [2]])], {"axes": [-1]}, "axis from the back of the result"),
    *(Case("Unsqueeze", v, [X, i64([0, -1])], [f32([[[1], [2]]])]) for v in INPUT),
    Case("Unsqueeze", 13, [X, i64(0)], [f32([[1, 2]])], label="scalar axes"),
    Case("Unsqueeze", 13, [X, i64([])], [X], label="empty axes"),
    Case("Unsqueeze", 13, [strs("a"), i64([0])], [strs(["a"])], label="scalar"),
    Case("Unsqueeze", 13, [f32([]), i64([1])], [np.zeros((0, 1), np.float32)], label="empty"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 11, *INPUT])
def test_every_element_type(version: int) -> None:
    for x in samples("Unsqueeze", version):
        if version < 13:
            assert_case(Case("Unsqueeze", version, [x], [x.reshape(4, 1)], {"axes": [1]}))
        else:
            assert_case(Case("Unsqueeze", version, [x, i64([1])], [x.reshape(4, 1)]))


def test_refuses_axes_that_do_not_fit() -> None:
    assert_refused(Case("Unsqueeze", 11, [X], [...], {"axes": [2]}), "axes 2 lies outside of rank 2")
    assert_refused(Case("Unsqueeze", 13, [X, i64([0, -3])], [...]), r"axes \[0, -3\] name an axis twice")
    assert_contradiction(
        make_inference("Unsqueeze", 13, [floats(2), ints(2)], {1: i64([0, -3])}),
        r"axes must be distinct; got \[0, -3\]",
    )
    assert_contradiction(
        make_inference("Unsqueeze", 11, [floats(2)], axes=(-3,)), "axis -3 lies outside of rank 2"
    )


def test_symbols_stay() -> None:
    assert infer_shape(make_inference("Unsqueeze", 13, [floats(N, M), ints(1)], {1: i64([1])})) == (N, 1, M)
    assert infer_shape(make_inference("Unsqueeze", 1, [floats(N, M)], axes=(0, 3))) == (1, N, M, 1)
    assert infer_shape(make_inference("Unsqueeze", 13, [floats(N), ints(2)])) == (None, None, None)
    assert infer_shape(make_inference("Unsqueeze", 13, [floats(N), ints(None)])) is None
    assert infer_types(make_inference("Unsqueeze", 13, [TensorType(FLOAT), ints(1)])) == [TensorType(FLOAT)]


def test_known_elements_stay() -> None:
    scalar = vec(N).reshape(())
    assert infer_elements(make_inference("Unsqueeze", 13, [ints(), ints(1)], {0: scalar, 1: i64([0])})) == [N]
    assert infer_elements(make_inference("Unsqueeze", 1, [ints()], {0: scalar}, axes=(0, 1))) == [[N]]
    assert infer_elements(make_inference("Unsqueeze", 13, [ints(), ints(1)], {0: scalar})) is None

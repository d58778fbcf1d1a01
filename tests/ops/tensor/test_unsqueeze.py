import numpy as np
import pytest

from cases import Case, check
from ops.tensor.questions import (
    FLOAT,
    M,
    N,
    asked,
    contradicts,
    f32,
    floats,
    i64,
    ints,
    refused,
    samples,
    shape,
    strs,
    types,
    value,
    vec,
)
from sardonyx._src.ir.types import TensorType

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
    check(case)


@pytest.mark.parametrize("version", [1, 11, *INPUT])
def test_every_element_type(version: int) -> None:
    for x in samples("Unsqueeze", version):
        if version < 13:
            check(Case("Unsqueeze", version, [x], [x.reshape(4, 1)], {"axes": [1]}))
        else:
            check(Case("Unsqueeze", version, [x, i64([1])], [x.reshape(4, 1)]))


def test_refuses_axes_that_do_not_fit() -> None:
    refused(Case("Unsqueeze", 11, [X], [...], {"axes": [2]}), "axes 2 lies outside of rank 2")
    refused(Case("Unsqueeze", 13, [X, i64([0, -3])], [...]), "name an axis twice")
    contradicts(asked("Unsqueeze", 13, [floats(2), ints(2)], {1: i64([0, -3])}), "name an axis twice")
    contradicts(asked("Unsqueeze", 11, [floats(2)], axes=(-3,)), "axis -3 lies outside of rank 2")


def test_symbols_stay() -> None:
    assert shape(asked("Unsqueeze", 13, [floats(N, M), ints(1)], {1: i64([1])})) == (N, 1, M)
    assert shape(asked("Unsqueeze", 1, [floats(N, M)], axes=(0, 3))) == (1, N, M, 1)
    assert shape(asked("Unsqueeze", 13, [floats(N), ints(2)])) == (None, None, None)
    assert shape(asked("Unsqueeze", 13, [floats(N), ints(None)])) is None
    assert types(asked("Unsqueeze", 13, [TensorType(FLOAT), ints(1)])) == [TensorType(FLOAT)]


def test_known_elements_stay() -> None:
    scalar = vec(N).reshape(())
    assert value(asked("Unsqueeze", 13, [ints(), ints(1)], {0: scalar, 1: i64([0])})) == [N]
    assert value(asked("Unsqueeze", 1, [ints()], {0: scalar}, axes=(0, 1))) == [[N]]
    assert value(asked("Unsqueeze", 13, [ints(), ints(1)], {0: scalar})) is None

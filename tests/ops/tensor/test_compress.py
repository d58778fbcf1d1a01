import numpy as np
import pytest

from cases import Case, check
from ops.tensor.questions import (
    FLOAT,
    M,
    N,
    asked,
    f32,
    floats,
    ints,
    refused,
    samples,
    shape,
    types,
    value,
    vec,
)
from sardonyx._src.errors import InferenceError
from sardonyx._src.ir.types import TensorType

X = f32([[1, 2], [3, 4], [5, 6]])


def flags(*values: bool) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    return np.array(values, np.bool_)


CASES = [
    *(
        Case("Compress", v, [X, flags(False, True, True)], [f32([[3, 4], [5, 6]])], {"axis": 0})
        for v in (9, 11, 28)
    ),
    Case("Compress", 9, [X, flags(False, True)], [f32([[2], [4], [6]])], {"axis": 1}, "axis 1"),
    Case("Compress", 11, [X, flags(True)], [f32([[1], [3], [5]])], {"axis": -1}, "from the back, too short"),
    Case("Compress", 9, [X, flags(False, True, False, False, True)], [f32([2, 5])], label="flattened"),
    Case("Compress", 11, [X, flags()], [f32([])], label="empty condition"),
    Case(
        "Compress",
        11,
        [X, flags(False, False, False)],
        [np.zeros((0, 2), np.float32)],
        {"axis": 0},
        "all False",
    ),
    Case("Compress", 11, [f32(7), flags(True)], [f32([7])], label="scalar"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("version", [9, 11, 28])
def test_every_element_type(version: int) -> None:
    for x in samples("Compress", version):
        check(Case("Compress", version, [x, flags(True, False, True)], [x[[0, 2]]]))


def test_refuses_conditions_that_do_not_fit() -> None:
    refused(Case("Compress", 11, [X, flags(*[True] * 4)], [...], {"axis": 0}), "at most 3 entries are wanted")
    refused(Case("Compress", 11, [X, flags(True).reshape(1, 1)], [...]), r"condition has shape \[1, 1\]")
    refused(Case("Compress", 11, [X, flags(True)], [...], {"axis": 2}), "axis 2 lies outside")


def test_the_condition_decides_the_size() -> None:
    boolean = asked("Compress", 9, []).new_dim()
    assert shape(asked("Compress", 11, [floats(N, M), None], axis=0)) == (boolean, M)
    assert shape(asked("Compress", 11, [floats(N, M), None])) == (boolean,)
    assert shape(asked("Compress", 11, [floats(N, M), None], {1: flags(True, False, True)}, axis=-1)) == (
        N,
        2,
    )
    assert types(asked("Compress", 11, [TensorType(FLOAT), None], axis=1)) == [TensorType(FLOAT)]


def test_known_elements_are_picked() -> None:
    assert value(asked("Compress", 11, [ints(2), None], {0: vec(N, 3), 1: flags(True, False)})) == [N]
    assert value(asked("Compress", 11, [ints(2), None], {0: vec(N, 3), 1: flags(False, True)}, axis=0)) == [3]
    assert value(asked("Compress", 11, [ints(2), None], {0: vec(N, 3)})) is None
    with pytest.raises(InferenceError, match="at most 2 entries"):
        value(asked("Compress", 11, [ints(2), None], {0: vec(N, 3), 1: flags(True, True, True)}))

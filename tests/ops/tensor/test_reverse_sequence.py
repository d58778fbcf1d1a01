import numpy as np
import pytest

from cases import Case, check
from ops.tensor.questions import N, asked, contradicts, f32, floats, i64, ints, refused, samples, types

X = f32([[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]])
Y = f32([[3, 6, 9, 12], [2, 5, 8, 13], [1, 4, 10, 14], [0, 7, 11, 15]])
LENGTHS = i64([4, 3, 2, 1])
BATCH_FIRST = {"batch_axis": 0, "time_axis": 1}

CASES = [
    *(Case("ReverseSequence", v, [X, LENGTHS], [Y]) for v in (10, 28)),
    Case("ReverseSequence", 10, [X.T, LENGTHS], [Y.T], BATCH_FIRST, "batch first"),
    Case("ReverseSequence", 28, [X, i64([0, 0, 0, 0])], [X], label="length 0"),
    Case(
        "ReverseSequence",
        10,
        [f32([[[1, 2]], [[3, 4]]]), i64([2])],
        [f32([[[3, 4]], [[1, 2]]])],
        label="rank 3",
    ),
    Case(
        "ReverseSequence",
        10,
        [f32([[[1, 2], [3, 4]]]), i64([2])],
        [f32([[[3, 4], [1, 2]]])],
        BATCH_FIRST,
        "rank 3",
    ),
    Case(
        "ReverseSequence",
        10,
        [np.zeros((3, 0), np.float32), i64([])],
        [np.zeros((3, 0), np.float32)],
        label="empty",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("version", [10, 28])
def test_every_element_type(version: int) -> None:
    for x in samples("ReverseSequence", version):
        check(Case("ReverseSequence", version, [x.reshape(4, 1), i64([3])], [x[[2, 1, 0, 3]].reshape(4, 1)]))


def test_refuses_what_does_not_fit() -> None:
    refused(Case("ReverseSequence", 10, [X, i64([1, 2])], [...]), "4 numbers from 0 to 4 are wanted")
    refused(Case("ReverseSequence", 10, [X, i64([5, 1, 1, 1])], [...]), "4 numbers from 0 to 4 are wanted")
    refused(Case("ReverseSequence", 10, [X, i64([-1, 1, 1, 1])], [...]), "4 numbers from 0 to 4 are wanted")
    refused(Case("ReverseSequence", 10, [X, LENGTHS], [...], {"time_axis": 1}), "where 0 and 1 are wanted")
    refused(Case("ReverseSequence", 10, [f32([1]), i64([1])], [...]), "of rank 1")


def test_the_type_stays() -> None:
    assert types(asked("ReverseSequence", 10, [floats(N, 3, 2), ints(None)])) == [floats(N, 3, 2)]
    assert types(asked("ReverseSequence", 10, [floats(N, 3), None])) == [floats(N, 3)]
    assert types(asked("ReverseSequence", 10, [None, ints(2)])) == [None]
    contradicts(asked("ReverseSequence", 10, [floats(N, 3), ints(2)]), "sizes 2 and 3")
    contradicts(asked("ReverseSequence", 10, [floats(N), ints(2)]), "rank 1")
    contradicts(
        asked("ReverseSequence", 10, [floats(N, 3), ints(3)], time_axis=1), "batch_axis is 1 and time_axis 1"
    )

import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    i64,
    infer_types,
    ints,
    make_inference,
    samples,
)

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
    assert_case(case)


@pytest.mark.parametrize("version", [10, 28])
def test_every_element_type(version: int) -> None:
    for x in samples("ReverseSequence", version):
        assert_case(
            Case("ReverseSequence", version, [x.reshape(4, 1), i64([3])], [x[[2, 1, 0, 3]].reshape(4, 1)])
        )


def test_refuses_what_does_not_fit() -> None:
    assert_refused(
        Case("ReverseSequence", 10, [X, i64([1, 2])], [...]),
        r"sequence_lens must be 4 numbers in \[0, 4\]; got \[1, 2\]",
    )
    assert_refused(
        Case("ReverseSequence", 10, [X, i64([5, 1, 1, 1])], [...]),
        r"sequence_lens must be 4 numbers in \[0, 4\]; got \[5, 1, 1, 1\]",
    )
    assert_refused(
        Case("ReverseSequence", 10, [X, i64([-1, 1, 1, 1])], [...]),
        r"sequence_lens must be 4 numbers in \[0, 4\]; got \[-1, 1, 1, 1\]",
    )
    assert_refused(
        Case("ReverseSequence", 10, [X, LENGTHS], [...], {"time_axis": 1}),
        "batch_axis and time_axis must .*; got 1, 1 for rank 2",
    )
    assert_refused(
        Case("ReverseSequence", 10, [f32([1]), i64([1])], [...]),
        "batch_axis and time_axis must .*; got 1, 0 for rank 1",
    )


def test_the_type_stays() -> None:
    assert infer_types(make_inference("ReverseSequence", 10, [floats(N, 3, 2), ints(None)])) == [
        floats(N, 3, 2)
    ]
    assert infer_types(make_inference("ReverseSequence", 10, [floats(N, 3), None])) == [floats(N, 3)]
    assert infer_types(make_inference("ReverseSequence", 10, [None, ints(2)])) == [None]
    assert_contradiction(make_inference("ReverseSequence", 10, [floats(N, 3), ints(2)]), "sizes 2 and 3")
    assert_contradiction(make_inference("ReverseSequence", 10, [floats(N), ints(2)]), "rank 1")
    assert_contradiction(
        make_inference("ReverseSequence", 10, [floats(N, 3), ints(3)], time_axis=1),
        "batch_axis and time_axis must .*; got 1 and 1",
    )

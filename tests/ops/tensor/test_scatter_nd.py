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
    infer_types,
    ints,
    make_inference,
    samples,
    strs,
    vec,
)
from sardonyx._src.ir import TensorType

LINE = f32([1, 2, 3, 4, 5, 6, 7, 8])
SQUARE = f32([[1, 2], [3, 4]])
F16 = np.float16
VERSIONS = (11, 13, 16, 18)


def reduction_case(reduction: str, updates: object, expected: object, version: int = 18) -> Case:
    """Both updates go to the last row of the square."""
    inputs = [SQUARE, i64([[1], [-1]]), f32(updates)]
    return Case("ScatterND", version, inputs, [f32(expected)], {"reduction": reduction}, reduction)


CASES = [
    *(
        Case(
            "ScatterND",
            v,
            [LINE, i64([[4], [3], [1], [7]]), f32([9, 10, 11, 12])],
            [f32([1, 11, 3, 10, 9, 6, 7, 12])],
        )
        for v in VERSIONS
    ),
    Case("ScatterND", 11, [SQUARE, i64([[1]]), f32([[7, 8]])], [f32([[1, 2], [7, 8]])], label="a row"),
    Case(
        "ScatterND",
        11,
        [SQUARE, i64([[1, 0], [0, -1]]), f32([7, 8])],
        [f32([[1, 8], [7, 4]])],
        label="elements",
    ),
    Case("ScatterND", 13, [SQUARE, i64([0, 1]), f32(7)], [f32([[1, 7], [3, 4]])], label="one tuple"),
    Case(
        "ScatterND",
        13,
        [SQUARE, i64([[[0], [1]]]), f32([[[5, 6], [7, 8]]])],
        [f32([[5, 6], [7, 8]])],
        label="rank 3",
    ),
    Case(
        "ScatterND",
        13,
        [SQUARE, np.zeros((1, 0), np.int64), f32([[[5, 6], [7, 8]]])],
        [f32([[5, 6], [7, 8]])],
        label="all",
    ),
    Case("ScatterND", 13, [SQUARE, np.zeros((0, 2), np.int64), f32([])], [SQUARE], label="no tuple"),
    reduction_case("add", [[1, 1], [2, 3]], [[1, 2], [6, 8]], 16),
    reduction_case("mul", [[1, 2], [2, 3]], [[1, 2], [6, 24]], 16),
    reduction_case("add", [[1, 1], [2, 3]], [[1, 2], [6, 8]]),
    reduction_case("mul", [[1, 2], [2, 3]], [[1, 2], [6, 24]]),
    reduction_case("max", [[9, 1], [2, 3]], [[1, 2], [9, 4]]),
    reduction_case("min", [[9, 1], [2, 3]], [[1, 2], [2, 1]]),
    Case(
        "ScatterND",
        18,
        [np.array([2048], F16), i64([[0], [0]]), np.array([1, 1], F16)],
        [np.array([2050], F16)],
        {"reduction": "add"},
        "rounded once",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_element_type_and_the_data_stay_as_they_are(version: int) -> None:
    for x in samples("ScatterND", version):
        assert_case(Case("ScatterND", version, [x, i64([[2], [-1]]), x[:2]], [x[[0, 1, 0, 1]]]))


def test_refuses_what_does_not_fit() -> None:
    assert_refused(
        Case("ScatterND", 13, [SQUARE, i64([[2]]), f32([[1, 2]])], [...]),
        r"indices must be in \[-2, 2\); got 2",
    )
    assert_refused(
        Case("ScatterND", 13, [SQUARE, i64([[0]]), f32([1])], [...]),
        r"updates must have shape \[1, 2\]; got \[1\]",
    )
    assert_refused(
        Case("ScatterND", 13, [SQUARE, i64([[0, 0, 0]]), f32([1])], [...]), r"indices must .*; got \[1, 3\]"
    )
    assert_refused(Case("ScatterND", 13, [SQUARE, i64(0), f32(1)], [...]), "indices must be")


def test_refuses_reductions_that_the_version_or_the_type_lacks() -> None:
    words = [strs(["a"]), i64([[0]]), strs(["b"])]
    assert_refused(
        Case("ScatterND", 18, words, [...], {"reduction": "add"}),
        "reduction must be none for elements of object; got 'add'",
    )


def test_the_type_is_that_of_the_data() -> None:
    assert infer_types(make_inference("ScatterND", 13, [floats(N, M), ints(5, 1), floats(5, M)])) == [
        floats(N, M)
    ]
    assert infer_types(make_inference("ScatterND", 13, [floats(N, M), ints(5, None), floats(5, 7)])) == [
        floats(N, M)
    ]
    assert infer_types(make_inference("ScatterND", 13, [TensorType(FLOAT), ints(5, 1), None])) == [
        TensorType(FLOAT)
    ]
    assert_contradiction(
        make_inference("ScatterND", 13, [floats(N, 3), ints(5, 1), floats(5, 4)]), "sizes 3 and 4"
    )
    assert_contradiction(
        make_inference("ScatterND", 13, [floats(N, 3), ints(5, 3), None]), "index tuples must .*; got 3"
    )
    assert_contradiction(
        make_inference("ScatterND", 13, [floats(N, 3), ints(), None]),
        r"indices must have rank >= 1 \(\[\.\.\., k\]\); got a scalar",
    )


def test_known_elements_are_replaced() -> None:
    inputs = [ints(3), ints(1, 1), ints(1)]
    assert infer_elements(
        make_inference("ScatterND", 18, inputs, {0: vec(N, 2, 3), 1: i64([[0]]), 2: i64([7])})
    ) == [7, 2, 3]
    assert infer_elements(
        make_inference("ScatterND", 11, inputs, {0: i64([1, 2, 3]), 1: i64([[-1]]), 2: vec(N)})
    ) == [1, 2, N]
    assert infer_elements(make_inference("ScatterND", 18, inputs, {0: vec(N, 2, 3), 2: i64([7])})) is None
    known = {0: vec(N, 2, 3), 1: i64([[0]]), 2: i64([7])}
    assert infer_elements(make_inference("ScatterND", 18, inputs, known, reduction="mul")) is None

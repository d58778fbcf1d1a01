import ml_dtypes
import numpy as np
import pytest

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

X = f32([1, 2, 3, 4]).reshape(1, 4, 1)
PLAIN = {"alpha": 1.0, "beta": 1.0, "bias": 1.0}


def over(*sums: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """X over 1 + each sum of squares / size, given as quotients."""
    return f32([v / (1 + s) for v, s in zip((1, 2, 3, 4), sums, strict=True)]).reshape(1, 4, 1)


CASES = [
    *(Case("LRN", v, [X], [over(1, 4, 9, 16)], {**PLAIN, "size": 1}, "itself") for v in (1, 13)),
    *(Case("LRN", v, [X], [over(5 / 3, 14 / 3, 29 / 3, 25 / 3)], {**PLAIN, "size": 3}) for v in (1, 13)),
    *(
        Case("LRN", v, [X], [over(5 / 2, 13 / 2, 25 / 2, 16 / 2)], {**PLAIN, "size": 2}, "the next one")
        for v in (1, 13)
    ),
    Case(
        "LRN", 13, [X], [over(14 / 4, 30 / 4, 29 / 4, 25 / 4)], {**PLAIN, "size": 4}, "one before, two after"
    ),
    Case("LRN", 13, [X], [over(*[30 / 9] * 4)], {**PLAIN, "size": 9}, "more than there are"),
    Case("LRN", 13, [X], [X / f32(2)], {"alpha": 0.0, "beta": 0.5, "bias": 4.0, "size": 3}, "bias and beta"),
    Case("LRN", 13, [f32([[10]])], [f32([[10 / 1.01**0.75]])], {"size": 1}, "defaults"),
    Case(
        "LRN",
        13,
        [f32([[[3, 4], [5, 6]]])],
        [f32([[[9 / 37, 12 / 55], [15 / 37, 18 / 55]]])],
        {**PLAIN, "size": 3},
    ),
    Case("LRN", 13, [np.array([[3.0]])], [np.array([[0.3]])], {**PLAIN, "size": 1}),
    Case(
        "LRN",
        1,
        [np.array([[300]], np.float16)],
        [np.array([[300 / 90001]], np.float16)],
        {**PLAIN, "size": 1},
    ),
    Case(
        "LRN",
        13,
        [np.array([[2]], ml_dtypes.bfloat16)],
        [np.array([[0.4]], ml_dtypes.bfloat16)],
        {**PLAIN, "size": 1},
    ),
    Case(
        "LRN", 13, [np.zeros((0, 2, 3), np.float32)], [np.zeros((0, 2, 3), np.float32)], {"size": 3}, "empty"
    ),
    Case(
        "LRN",
        13,
        [np.zeros((1, 0, 3), np.float32)],
        [np.zeros((1, 0, 3), np.float32)],
        {"size": 3},
        "no channels",
    ),
    Case("LRN", 13, [f32([[np.nan], [1]])], [f32([[np.nan], [0.75]])], {**PLAIN, "size": 3}, "NaN"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_the_input_is_left_alone() -> None:
    x = X.copy()
    assert_case(Case("LRN", 13, [x], [over(5 / 3, 14 / 3, 29 / 3, 25 / 3)], {**PLAIN, "size": 3}))
    assert np.array_equal(x, X)


def test_bad_values_are_refused() -> None:
    assert_refused(Case("LRN", 13, [f32([1, 2])], [...], {"size": 1}), "rank 1")
    assert_contradiction(make_inference("LRN", 13, [floats(3)], size=1), "rank 1")
    assert_contradiction(make_inference("LRN", 13, [floats(1, 3)], size=0), "size must be >= 1; got 0")


def test_the_shape_stays() -> None:
    assert infer_shape(make_inference("LRN", 13, [floats(N, 3, None)], size=3)) == (N, 3, None)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    N,
    assert_refused,
    f32,
    floats,
    i64,
    infer_types,
    ints,
    make_inference,
    samples,
    strs,
)
from sardonyx._src.ir import TensorType

LINE = f32([2, 1, 1, 3, 4, 3])
SQUARE = f32([[1, 0, 0], [1, 0, 0], [2, 3, 4]])
PAIRS = f32([[[1, 1], [0, 1], [2, 1], [0, 1]]] * 2)
nan = np.nan

CASES = [
    *(
        Case(
            "Unique",
            v,
            [LINE],
            [f32([1, 2, 3, 4]), i64([1, 0, 3, 4]), i64([1, 0, 0, 2, 3, 2]), i64([2, 1, 2, 1])],
        )
        for v in (11, 28)
    ),
    Case(
        "Unique",
        11,
        [LINE],
        [f32([2, 1, 3, 4]), i64([0, 1, 3, 4]), i64([0, 1, 1, 2, 3, 2]), i64([1, 2, 2, 1])],
        {"sorted": 0},
        "in order of occurrence",
    ),
    Case(
        "Unique",
        11,
        [f32([[1, 3], [2, 3]])],
        [f32([1, 2, 3]), i64([0, 2, 1]), i64([0, 2, 1, 2]), i64([1, 1, 2])],
        {},
        "flat",
    ),
    Case(
        "Unique",
        11,
        [SQUARE],
        [f32([[1, 0, 0], [2, 3, 4]]), i64([0, 2]), i64([0, 0, 1]), i64([2, 1])],
        {"axis": 0},
        "rows",
    ),
    Case(
        "Unique",
        11,
        [PAIRS],
        [f32([[[0, 1], [1, 1], [2, 1]]] * 2), i64([1, 0, 2]), i64([1, 0, 2, 0]), i64([2, 1, 1])],
        {"axis": 1},
        "slices of the middle axis",
    ),
    Case(
        "Unique",
        11,
        [PAIRS],
        [f32([[[1, 1], [0, 1], [2, 1]]] * 2), i64([0, 1, 2]), i64([0, 1, 2, 1]), i64([1, 2, 1])],
        {"axis": -2, "sorted": 0},
        "slices in order of occurrence",
    ),
    Case(
        "Unique",
        11,
        [f32([nan, 1, nan])],
        [f32([1, nan]), i64([1, 0]), i64([1, 0, 1]), i64([1, 2])],
        label="NaN",
    ),
    Case("Unique", 11, [f32([0.0, -0.0])], [f32([0]), i64([0]), i64([0, 0]), i64([2])], label="zeros"),
    Case("Unique", 11, [f32([[nan], [nan]])], [f32([[nan]]), i64([0])], {"axis": 0}, "NaN in slices"),
    Case(
        "Unique",
        11,
        [strs(["b", "", "b"])],
        [strs(["", "b"]), i64([1, 0]), i64([1, 0, 1]), i64([1, 2])],
        label="strings",
    ),
    Case(
        "Unique",
        11,
        [strs([["b", "a"], ["b", "a"]])],
        [strs([["a", "b"]] * 2), i64([1, 0])],
        {"axis": 1},
        "strings",
    ),
    Case("Unique", 11, [f32(5)], [f32([5]), i64([0]), i64([0]), i64([1])], label="scalar"),
    Case("Unique", 11, [f32([])], [f32([]), i64([]), i64([]), i64([])], label="empty"),
    Case(
        "Unique",
        11,
        [np.zeros((3, 0), np.float32)],
        [np.zeros((1, 0), np.float32), i64([0]), i64([0, 0, 0]), i64([3])],
        {"axis": 0},
        "empty slices are one",
    ),
    Case(
        "Unique",
        11,
        [np.zeros((0, 3), np.float32)],
        [np.zeros((0, 3), np.float32), i64([]), i64([]), i64([])],
        {"axis": 0},
        "no slices",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [11, 28])
def test_every_element_type(version: int) -> None:
    for x in samples("Unique", version):
        places = [2, 0, 2, 1]
        if x.dtype != np.bool_:
            assert_case(Case("Unique", version, [x[places]], [x[[2, 0, 1]], i64([0, 1, 3])], {"sorted": 0}))
        else:
            assert_case(Case("Unique", version, [x[[0, 3]]], [x[[3, 0]], i64([1, 0])]))


def test_rejects_an_axis_out_of_range() -> None:
    assert_refused(Case("Unique", 11, [LINE], [...], {"axis": 1}), "axis 1 lies outside")


def test_all_that_is_counted_has_one_size() -> None:
    new = make_inference("Unique", 11, []).new_dim()
    assert infer_types(make_inference("Unique", 11, [floats(N, 3)])) == [
        floats(new),
        ints(new),
        ints(3 * N),
        ints(new),
    ]
    assert infer_types(make_inference("Unique", 11, [floats(N, 3)], axis=1)) == [
        floats(N, new),
        ints(new),
        ints(3),
        ints(new),
    ]
    assert infer_types(make_inference("Unique", 11, [TensorType(FLOAT)], axis=1))[0] == TensorType(FLOAT)
    assert infer_types(make_inference("Unique", 11, [None])) == [None, ints(new), ints(None), ints(new)]


@given(st.lists(st.integers(-3, 3), max_size=8), st.booleans())
def test_results_say_the_input(values: list[int], sorted_: bool) -> None:
    """Against Python's own sets and lists."""
    unique = sorted(set(values)) if sorted_ else list(dict.fromkeys(values))
    first, inverse = [values.index(v) for v in unique], [unique.index(v) for v in values]
    counts = [values.count(v) for v in unique]
    assert_case(
        Case(
            "Unique",
            11,
            [i64(values)],
            [i64(x) for x in (unique, first, inverse, counts)],
            {"sorted": int(sorted_)},
        )
    )


@given(st.lists(st.sampled_from(["b", "a", "", "é", "ab", "\U0001f600"]), max_size=20))
def test_strings_are_numbered_as_by_numpy(texts: list[str]) -> None:
    x = np.array(texts, object)
    values, first, inverse, counts = np.unique(np.array(texts, "U3"), True, True, True)
    expected = [values.astype(object), first, inverse, counts]
    assert_case(Case("Unique", 11, [x], expected, {"sorted": 1}))
    order = np.argsort(first)
    rank = np.argsort(order)
    unsorted = [values[order].astype(object), first[order], rank[inverse], counts[order]]
    assert_case(Case("Unique", 11, [x], unsorted, {"sorted": 0}))

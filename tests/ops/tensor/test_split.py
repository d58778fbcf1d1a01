import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    INT64,
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
    vec,
)
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import Dim

X = f32([[1, 2, 3, 4], [5, 6, 7, 8]])
TOP, BOTTOM = f32([[1, 2, 3, 4]]), f32([[5, 6, 7, 8]])
LEFT, RIGHT = f32([[1], [5]]), f32([[2, 3, 4], [6, 7, 8]])
EQUAL_PARTS = [f32([[1, 2], [5, 6]]), f32([[3, 4], [7, 8]])]
LINE = f32([1, 2, 3, 4, 5])

CASES = [
    Case("Split", 1, [X], EQUAL_PARTS, {"axis": 1}, "equal"),
    Case("Split", 1, [X], [TOP, BOTTOM], label="axis 0 where none is named"),
    Case("Split", 1, [X], [LEFT, RIGHT], {"axis": 1, "split": [1, 3]}, "attribute"),
    Case("Split", 1, [X, f32([1, 3])], [LEFT, RIGHT], {"axis": 1}, "input of the type of the data"),
    Case("Split", 2, [X], [TOP, BOTTOM], label="axis 0 by default"),
    Case("Split", 2, [X], [LEFT, RIGHT], {"axis": 1, "split": [1, 3]}),
    Case("Split", 11, [X], [LEFT, RIGHT], {"axis": -1, "split": [1, 3]}, "axis from the back"),
    Case("Split", 11, [LINE], [LINE, f32([])], {"split": [5, 0]}, "an empty part"),
    Case("Split", 13, [X, i64([1, 3])], [LEFT, RIGHT], {"axis": -1}),
    Case("Split", 13, [X], EQUAL_PARTS, {"axis": 1}, "equal"),
    Case("Split", 13, [f32([]), i64([0, 0])], [f32([]), f32([])], label="empty"),
    Case("Split", 18, [X, i64([1, 3])], [LEFT, RIGHT], {"axis": 1}),
    Case("Split", 18, [X], EQUAL_PARTS, {"axis": 1, "num_outputs": 2}, "equal"),
    Case("Split", 18, [LINE], [f32([1, 2]), f32([3, 4]), f32([5])], {"num_outputs": 3}, "smaller last part"),
    Case("Split", 18, [f32([1, 2])], [f32([1]), f32([2]), f32([])], {"num_outputs": 3}, "empty last part"),
    Case("Split", 18, [X], [X], {"num_outputs": 1}, "one part"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 2, 11, 13, 18])
def test_every_element_type(version: int) -> None:
    for x in samples("Split", version):
        assert_case(Case("Split", version, [x], [x[:2], x[2:]], {"num_outputs": 2} if version == 18 else {}))


def test_refuses_lengths_that_do_not_fit() -> None:
    assert_refused(
        Case("Split", 2, [LINE], [..., ...]), "the size of axis 0 must be a multiple of 2 outputs; got 5"
    )
    assert_refused(Case("Split", 2, [LINE], [..., ...], {"split": [2, 2]}), r"lengths must .* sum to 5")
    assert_refused(Case("Split", 13, [LINE, i64([6, -1])], [..., ...]), r"lengths must .* sum to 5")
    assert_refused(
        Case("Split", 13, [LINE, i64([2, 2, 1])], [..., ...]),
        "lengths must have 2 entries, one per output; got 3",
    )
    assert_refused(Case("Split", 13, [LINE], [...], {"axis": 1}), "axis 1 lies outside")


def test_refuses_both_or_neither_ways_to_say_it() -> None:
    assert_refused(
        Case("Split", 1, [LINE, f32([5])], [...], {"split": [5]}),
        "the lengths must not be given both as attribute split and as",
    )
    assert_refused(Case("Split", 18, [LINE], [...]), "exactly one of")
    assert_refused(Case("Split", 18, [LINE, i64([5])], [...], {"num_outputs": 1}), "exactly one of")


def test_refuses_parts_of_which_more_than_the_last_would_be_smaller() -> None:
    assert_refused(Case("Split", 18, [LINE], [...] * 4, {"num_outputs": 4}), "num_outputs must .*; got 4")
    assert_contradiction(
        make_inference("Split", 18, [floats(5)], outputs=4, num_outputs=4), "num_outputs must .*; got 4"
    )


# --- inference -------------------------------------------------------------------------------


def lengths(version: int, size: Dim, count: int, *known: Dim, **attributes: object) -> list[Dim]:
    inputs = [floats(size), *([ints(len(known))] if known else [])]
    types = infer_types(
        make_inference("Split", version, inputs, {1: vec(*known)} if known else {}, count, **attributes)
    )
    assert all(isinstance(t, TensorType) and t.shape is not None and len(t.shape) == 1 for t in types)
    return [t.shape[0] for t in types if isinstance(t, TensorType) and t.shape is not None]


def test_symbolic_lengths() -> None:
    assert lengths(13, N, 2) == [N // 2, N // 2]
    assert lengths(13, 6 * N, 3) == [2 * N] * 3
    assert lengths(18, 4 * N, 2, num_outputs=2) == [2 * N] * 2
    half = -(-N // 2)
    assert lengths(18, N, 2, num_outputs=2) == [half, N - half]
    assert lengths(18, None, 2, num_outputs=2) == [None, None]
    assert lengths(13, N, 2, 1, 2) == [1, 2]
    assert lengths(2, N, 2, split=(M, 2)) == [M, 2]


def test_one_unknown_length_is_what_the_others_leave() -> None:
    assert lengths(13, N, 2, 1, None) == [1, N - 1]
    assert lengths(13, N, 3, 1, None, None) == [1, None, None]
    assert lengths(13, None, 2, 1, None) == [1, None]


def test_unknown_lengths() -> None:
    assert (
        infer_types(make_inference("Split", 13, [floats(N, 3), ints(None)], outputs=2))
        == [floats(None, 3)] * 2
    )
    assert infer_types(make_inference("Split", 13, [TensorType(FLOAT)], outputs=2)) == [TensorType(FLOAT)] * 2


def test_contradictions() -> None:
    assert_contradiction(
        make_inference("Split", 13, [floats(5)], outputs=2),
        "the size of the axis must be a multiple of 2 outputs; got 5",
    )
    assert_contradiction(
        make_inference("Split", 13, [floats(5), ints(2)], {1: i64([2, 2])}, 2), r"lengths must .* sum to 5"
    )
    assert_contradiction(
        make_inference("Split", 13, [floats(5), ints(2)], {1: i64([6, -1])}, 2),
        r"lengths must .*; got \[6, -1\]",
    )
    assert_contradiction(
        make_inference("Split", 13, [floats(5), ints(3)], outputs=2),
        "lengths must have 2 entries, one per output; got 3",
    )
    assert_contradiction(
        make_inference("Split", 18, [floats(5)], outputs=2, num_outputs=3),
        "num_outputs must be the number of outputs, 2; got 3",
    )
    assert_contradiction(make_inference("Split", 18, [floats(5)], outputs=2), "exactly one of")


def test_the_first_part_of_known_elements() -> None:
    inference = make_inference("Split", 13, [ints(3), ints(2)], {0: vec(2, N, M), 1: i64([1, 2])}, 2)
    assert infer_elements(inference) == [2]
    assert infer_elements(make_inference("Split", 18, [ints(3)], {0: vec(2, N, M)}, 2, num_outputs=2)) == [
        2,
        N,
    ]
    assert infer_elements(make_inference("Split", 13, [TensorType(INT64)], outputs=2)) is None

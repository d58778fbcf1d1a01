import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from sardonyx._src.ir.dims import Dim, evaluate, symbol
from sardonyx._src.ops.tensor.slicing import clamp_slice, sliced_dim

X = f32([[1, 2, 3, 4], [5, 6, 7, 8]])
LINE = f32([0, 1, 2, 3, 4])
MAX, MIN = 2**63 - 1, -(2**63)
I32 = np.int32


def line(start: int, end: int, step: int, expected: object, label: str, version: int = 13) -> Case:
    return Case(
        "Slice",
        version,
        [LINE, i64([start]), i64([end]), i64([0]), i64([step])],
        [f32(expected)],
        label=label,
    )


CASES = [
    Case("Slice", 1, [X], [f32([[5, 6, 7]])], {"axes": [0, 1], "starts": [1, 0], "ends": [2, 3]}),
    Case(
        "Slice", 1, [X], [f32([[2, 3, 4]])], {"starts": [0, 1], "ends": [-1, 1000]}, "from the back, too far"
    ),
    Case("Slice", 1, [X], [f32([[5, 6, 7, 8]])], {"starts": [1], "ends": [2**31 - 1]}, "first axis alone"),
    Case("Slice", 1, [X], [f32([[4], [8]])], {"axes": [1], "starts": [-1], "ends": [9]}, "negative start"),
    Case("Slice", 1, [X], [np.zeros((0, 4), np.float32)], {"starts": [2], "ends": [1]}, "nothing between"),
    Case(
        "Slice", 10, [X, i64([1, 0]), i64([2, 3]), i64([0, 1]), i64([1, 2])], [f32([[5, 7]])], label="steps"
    ),
    Case("Slice", 10, [X, i64([0, 1]), i64([-1, 1000])], [f32([[2, 3, 4]])], label="no axes"),
    Case(
        "Slice", 11, [X, i64([1]), i64([3]), i64([-1])], [f32([[2, 3], [6, 7]])], label="axis from the back"
    ),
    Case(
        "Slice", 11, [X, *(np.array([n], I32) for n in (0, 4, 1, 3))], [f32([[1, 4], [5, 8]])], label="int32"
    ),
    Case(
        "Slice",
        13,
        [X, i64([1]), i64([3]), None, i64([-1])],
        [np.zeros((0, 4), np.float32)],
        label="axes left out",
    ),
    Case("Slice", 13, [X, i64([]), i64([])], [X], label="no axis"),
    Case("Slice", 13, [strs("a"), i64([]), i64([])], [strs("a")], label="scalar"),
    line(4, 0, -1, [4, 3, 2, 1], "backward"),
    line(-1, MIN, -2, [4, 2, 0], "backward to the beginning"),
    line(MAX, MIN, -1, [4, 3, 2, 1, 0], "start past the end", 10),
    line(-100, MIN, -1, [0], "backward start before the beginning"),
    line(3, -1, -1, [], "end -1 is the last entry"),
    line(-2, MAX, 1, [3, 4], "to the end", 11),
    line(MIN, MAX, 7, [0], "step longer than the axis"),
    line(7, 9, 1, [], "past the end"),
    Case(
        "Slice",
        13,
        [np.zeros(0, np.float32), *(i64([n]) for n in (MAX, MIN, 0, -1))],
        [f32([])],
        label="empty axis",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 10, 11, 13])
def test_every_element_type(version: int) -> None:
    for x in samples("Slice", version):
        if version == 1:
            assert_case(Case("Slice", 1, [x], [x[[1, 2]]], {"starts": [1], "ends": [3]}))
        else:
            assert_case(Case("Slice", version, [x, i64([1]), i64([3])], [x[[1, 2]]]))


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        (([0], [1], [0], [0]), r"steps must not be 0; got \[0\]"),
        (([0], [1, 2], [0], [1]), r"starts, ends, axes and steps must .*; got \[1, 2, 1, 1\]"),
        (([0], [1], [2], [1]), "axes 2 lies outside"),
        (([0, 0], [1, 1], [0, -2], [1, 1]), "name an axis twice"),
    ],
)
def test_refuses_lists_that_do_not_fit(inputs: tuple[list[int], ...], why: str) -> None:
    assert_refused(Case("Slice", 13, [X, *map(i64, inputs)], [...]), why)


# --- inference -------------------------------------------------------------------------------


def of(size: Dim, start: Dim, end: Dim, step: Dim = 1) -> object:
    known = {1: vec(start), 2: vec(end), 3: i64([0]), 4: vec(step)}
    shape = infer_shape(make_inference("Slice", 13, [floats(size, 7)] + [ints(1)] * 4, known))
    assert shape is not None
    assert shape[1] == 7
    return str(shape[0])


def test_symbolic_sizes() -> None:
    assert of(N, 1, MAX) == "max(N-1,0)"
    assert of(N, 1, 2**31 - 1) == "max(N-1,0)"
    assert of(N, 0, -1) == "max(N-1,0)"
    assert of(N, 1, -1) == "max(N-2,0)"
    assert of(N, 0, 3) == "min(N,3)"
    assert of(N, 0, N) == "N"
    assert of(N, MIN, MAX) == "N"
    assert of(N, 0, MAX, 2) == "(N-1)//2+1"
    assert of(N, -1, MIN, -1) == "N"
    assert of(N, 0, M) == "min(M,N)"
    assert of(N + M, M, MAX) == "N"
    assert of(N, N - 1, MAX) == of(N, -1, MAX)
    assert of(10, 0, N) == "min(N,10)"


def test_unknown_ends_make_a_size_of_its_own() -> None:
    assert of(N, 0, None) == "new0"
    assert of(N, 0, 3, None) == "new0"
    assert of(None, 0, M - 5) == "new0"
    inference = make_inference("Slice", 10, [floats(N, M), ints(1), ints(1), ints(1)], {3: i64([1])})
    assert infer_shape(inference) == (N, symbol("new0"))
    assert infer_shape(
        make_inference("Slice", 10, [floats(N, M), ints(None), ints(None), ints(1)], {3: i64([-2])})
    ) == (
        symbol("new0"),
        M,
    )
    assert infer_shape(make_inference("Slice", 10, [floats(N, M), ints(None), ints(None)])) == (None, None)
    assert infer_shape(make_inference("Slice", 10, [floats(N, M), ints(1), ints(None)])) == (None, None)
    assert infer_types(make_inference("Slice", 13, [TensorType(FLOAT), ints(1), ints(1)])) == [
        TensorType(FLOAT)
    ]


def test_attributes_of_the_first_version() -> None:
    assert infer_shape(
        make_inference("Slice", 1, [floats(N, M)], starts=(1,), ends=(2**31 - 1,), axes=(1,))
    ) == (
        N,
        sliced_dim(M, 1, MAX, 1),
    )


def test_contradictions() -> None:
    assert_contradiction(
        make_inference("Slice", 10, [floats(N), ints(1), ints(2)], {1: vec(0), 2: vec(1, 1)}),
        r"starts, ends, axes and steps must .*; got \[1, 2, 1, 1\]",
    )
    assert_contradiction(
        make_inference("Slice", 10, [floats(N)] + [ints(1)] * 4, dict.fromkeys(range(1, 5), vec(0))),
        "steps must not be 0",
    )
    assert_contradiction(
        make_inference("Slice", 10, [floats(N)] + [ints(1)] * 3, dict.fromkeys(range(1, 4), vec(1))),
        "axis 1 lies",
    )


def test_known_elements_are_cut() -> None:
    data = vec(N, 3, M)

    def cut(start: Dim, end: Dim, step: Dim = 1) -> object:
        known = {0: data, 1: vec(start), 2: vec(end), 3: i64([0]), 4: vec(step)}
        return infer_elements(make_inference("Slice", 13, [ints(3)] + [ints(1)] * 4, known))

    assert cut(1, MAX) == [3, M]
    assert cut(1, 2) == [3]
    assert cut(-1, MIN, -1) == [M, 3, N]
    assert cut(0, N + 3) == [N, 3, M]
    assert cut(N + 3, MAX) == []
    assert cut(0, N) is None
    assert cut(None, 2) is None
    assert cut(0, 2, None) is None
    assert cut(-N - 4, MAX) == [N, 3, M]
    assert cut(-1, -N - 4, -1) == [M, 3, N]
    assert cut(-1, -N - 3, -1) is None
    assert infer_elements(make_inference("Slice", 1, [ints(3)], {0: data}, starts=(0,), ends=(1,))) == [N]
    assert infer_elements(make_inference("Slice", 10, [ints(3), ints(1), ints(1)], {0: data})) is None


def expected_indices(size: int, start: int, end: int, step: int) -> list[int]:
    """The indices that Slice-13 selects by its text: add the size, clamp, step."""
    low, high = (0, size) if step > 0 else (0, size - 1)
    start = max(low, min(start + size if start < 0 else start, high)) if size else 0
    low, high = (0, size) if step > 0 else (-1, size - 1)
    end = max(low, min(end + size if end < 0 else end, high))
    return list(range(start, end, step)) if size else []


positions = st.integers(-9, 9) | st.sampled_from([MIN, MAX, 2**31 - 1, -(2**31)])
steps = st.integers(-3, 3).filter(bool)


@given(st.integers(0, 6), positions, positions, steps)
def test_ranges_are_those_of_the_text(size: int, start: int, end: int, step: int) -> None:
    assert list(range(size))[clamp_slice(start, end, step, size)] == expected_indices(size, start, end, step)


ends = st.one_of(positions, st.tuples(st.sampled_from([0, 1, 2]), st.integers(-5, 5)))


@given(st.integers(0, 6), ends, ends, steps)
def test_symbolic_sizes_are_the_counts(size: int, start: object, end: object, step: int) -> None:
    def dim(position: object) -> Dim:
        return position[0] * N + position[1] if isinstance(position, tuple) else position  # type: ignore[return-value]

    assert_count(size, dim(start), dim(end), step, {"N": size})


differences = st.tuples(*[st.integers(-1, 1)] * 2, st.integers(-2, 2))


@given(st.integers(0, 6), st.integers(0, 6), differences, differences, steps)
def test_a_difference_of_sizes_has_any_sign(
    size: int, other: int, start: tuple[int, int, int], end: tuple[int, int, int], step: int
) -> None:
    """As in the mask of the latest tokens: from all tokens minus the new ones on."""
    first, last = (a * N + b * M + c for a, b, c in (start, end))
    assert_count(size, first, last, step, {"N": size, "M": other})


def assert_count(size: int, start: Dim, end: Dim, step: int, sizes: dict[str, int]) -> None:
    """The length of a slice of an axis of N is always known, and right."""
    length, first, last = (evaluate(dim, sizes) for dim in (sliced_dim(N, start, end, step), start, end))
    assert first is not None
    assert last is not None
    assert length == len(expected_indices(size, first, last, step))

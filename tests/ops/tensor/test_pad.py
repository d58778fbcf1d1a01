import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
    f32,
    floats,
    i64,
    infer_shape,
    infer_types,
    ints,
    make_inference,
    samples,
    strs,
    vec,
)
from sardonyx._src.ir import TensorType

X = f32([[1, 2], [3, 4], [5, 6]])
LINE = f32([1, 2, 3])
LEFT = f32([[0, 0, 1, 2], [0, 0, 3, 4], [0, 0, 5, 6]])
INPUTS = (11, 13, 18, 19, 21, 23, 24, 25)


def line(mode: str, pads: list[int], expected: list[float], label: str = "", version: int = 13) -> Case:
    return Case("Pad", version, [LINE, i64(pads)], [f32(expected)], {"mode": mode}, f"{mode} {label}")


CASES = [
    Case("Pad", 1, [X], [LEFT], {"paddings": [0, 2, 0, 0]}),
    Case("Pad", 1, [LINE], [f32([9, 1, 2, 3, 9])], {"paddings": [1, 1], "value": 9.0}, "value"),
    Case("Pad", 1, [LINE], [f32([2, 1, 2, 3, 2])], {"paddings": [1, 1], "mode": "reflect"}, "reflect"),
    Case("Pad", 2, [X], [LEFT], {"pads": [0, 2, 0, 0]}),
    Case("Pad", 2, [LINE], [f32([2, 3, 0])], {"pads": [-1, 1]}, "a negative count"),
    Case("Pad", 2, [LINE], [f32([1, 1, 2, 3])], {"pads": [1, 0], "mode": "edge"}, "edge"),
    *(Case("Pad", v, [X, i64([0, 2, 0, 0])], [LEFT]) for v in INPUTS),
    Case("Pad", 11, [LINE, i64([1, 2]), f32(9)], [f32([9, 1, 2, 3, 9, 9])], label="constant_value"),
    Case("Pad", 13, [LINE, i64([1, 0]), f32([9])], [f32([9, 1, 2, 3])], label="constant_value of rank 1"),
    Case("Pad", 13, [strs(["a"]), i64([1, 0])], [strs(["", "a"])], label="empty string by default"),
    Case("Pad", 13, [np.array([True]), i64([0, 1])], [np.array([True, False])], label="False by default"),
    Case("Pad", 13, [f32(7), i64([])], [f32(7)], label="scalar"),
    Case("Pad", 13, [f32([]), i64([1, 1])], [f32([0, 0])], label="empty"),
    Case(
        "Pad", 18, [X, i64([1, 0]), None, i64([-1])], [f32([[0, 1, 2], [0, 3, 4], [0, 5, 6]])], label="axes"
    ),
    Case(
        "Pad",
        18,
        [X, i64([1, 0, 0, -2]), f32(9), np.array([1, 0], np.int32)],
        [f32([[9, 1, 2]])],
        label="int32 axes",
    ),
    Case("Pad", 19, [LINE, i64([]), None, i64([])], [LINE], label="no axes"),
    line("constant", [-5, 4], [0, 0], "cut beyond the other end"),
    line("constant", [4, -4], [0, 0, 0], "cut beyond the beginning"),
    line("constant", [-1, -2], [], "nothing left"),
    line("reflect", [2, 2], [3, 2, 1, 2, 3, 2, 1]),
    line("reflect", [5, 0], [2, 1, 2, 3, 2, 1, 2, 3], "more than once"),
    line("reflect", [-1, 1], [2, 3, 2], "cut and grown"),
    line("reflect", [-2, 1], [3, 3], "what is cut no longer counts"),
    line("edge", [2, 1], [1, 1, 1, 2, 3, 3]),
    line("edge", [-2, 1], [3, 3], "cut and grown"),
    line("wrap", [2, 4], [2, 3, 1, 2, 3, 1, 2, 3, 1], "", 19),
    line("wrap", [-1, 1], [2, 3, 2], "cut and grown", 25),
    line("edge", [-3, 0], [], "nothing left"),
    Case("Pad", 13, [f32([7]), i64([2, 1])], [f32([7, 7, 7, 7])], {"mode": "reflect"}, "reflect one entry"),
    Case(
        "Pad",
        19,
        [X, i64([2, 1, 1, 1])],
        [f32([[4, 3, 4, 3], [6, 5, 6, 5], [2, 1, 2, 1], [4, 3, 4, 3], [6, 5, 6, 5], [2, 1, 2, 1]])],
        {"mode": "wrap"},
        "wrap both axes",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 2, *INPUTS])
@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_every_element_type(version: int, mode: str) -> None:
    for x in samples("Pad", version):
        places = [0, 0, 1, 2, 3]
        if version < 11:
            pads = {"paddings" if version == 1 else "pads": [1, 0]}
            y = x[places].copy()
            y[0] = 0 if mode == "constant" else y[0]
            assert_case(Case("Pad", version, [x], [y], {"mode": mode, **pads}))
        else:
            fill = [x[:1]] if mode == "constant" else []
            assert_case(Case("Pad", version, [x, i64([1, 0]), *fill], [x[places]], {"mode": mode}))


def test_refuses_pads_that_do_not_fit() -> None:
    assert_refused(Case("Pad", 13, [X, i64([1, 1])], [...]), "pads must have 4 entries, two per axis; got 2")
    assert_refused(Case("Pad", 13, [LINE, i64([-4, 2])], [...], {"mode": "edge"}), "cropped to nothing")
    assert_refused(Case("Pad", 18, [X, i64([1, 1]), None, i64([2])], [...]), "axes 2 lies outside")
    assert_refused(Case("Pad", 18, [X, i64([1] * 4), None, i64([0, -2])], [...]), "name an axis twice")
    assert_refused(
        Case("Pad", 13, [LINE, i64([-2, -2])], [...]),
        r"pads must not remove more than the sizes \[3\]; got \[-2, -2\]",
    )
    assert_refused(Case("Pad", 13, [X, i64([-2, 0, -2, 0])], [...]), r"pads must .*; got \[-2, 0, -2, 0\]")
    assert_refused(Case("Pad", 13, [f32([]), i64([1, 0])], [...], {"mode": "edge"}), "must not be empty")


def test_refuses_a_result_that_is_too_large() -> None:
    assert_too_large(Case("Pad", 13, [LINE, i64([1 << 40, 0])], [...]))


def test_symbolic_sizes() -> None:
    assert infer_shape(make_inference("Pad", 13, [floats(N, 3), ints(4)], {1: i64([1, 0, 2, 0])})) == (
        N + 3,
        3,
    )
    assert infer_shape(make_inference("Pad", 13, [floats(4, 3), ints(4)], {1: vec(0, N, 0, 0)})) == (4, N + 3)
    assert infer_shape(make_inference("Pad", 13, [floats(4, 3), ints(4)])) == (None, None)
    assert infer_shape(make_inference("Pad", 13, [floats(4, 3, 2), ints(None)])) == (None, None, None)
    axes = [floats(4, 3), ints(2), floats(), ints(1)]
    assert infer_shape(make_inference("Pad", 18, axes, {3: i64([-1])})) == (4, None)
    assert infer_shape(make_inference("Pad", 18, axes)) == (None, None)
    assert infer_shape(make_inference("Pad", 1, [floats(N, 3)], paddings=(1, 0, 1, 0))) == (N + 2, 3)
    assert infer_shape(make_inference("Pad", 2, [floats(N, 3)], pads=(0, -1, 0, 0))) == (N, 2)
    assert infer_types(make_inference("Pad", 13, [TensorType(FLOAT), ints(4)])) == [TensorType(FLOAT)]


def test_contradictions() -> None:
    assert_contradiction(
        make_inference("Pad", 13, [floats(4), ints(4)]), "pads must have 2 entries, two per axis; got 4"
    )
    assert_contradiction(
        make_inference("Pad", 13, [floats(4), ints(2)], {1: i64([-3, -2])}), "pads must .*; got -3 and -2"
    )


@given(
    st.integers(1, 4), st.integers(-6, 6), st.integers(-6, 6), st.sampled_from(["reflect", "edge", "wrap"])
)
def test_modes_continue_the_data(size: int, before: int, after: int, mode: str) -> None:
    """Each mode is a function on all integers that is the identity inside of what is not cut: walk there step by step."""
    first, end = max(-before, 0), size + min(after, 0)
    if end <= first:
        return
    x = np.arange(size, dtype=np.float32)

    def source(place: int) -> int:
        while not first <= place < end:
            if mode == "edge":
                place = first if place < first else end - 1
            elif mode == "wrap":
                place += (end - first) * (1 if place < first else -1)
            elif end - first == 1:
                place = first
            else:
                place = 2 * (first if place < first else end - 1) - place
        return place

    expected = f32([source(place) for place in range(-before, size + after)])
    assert_case(Case("Pad", 19, [x, i64([before, after])], [expected], {"mode": mode}))

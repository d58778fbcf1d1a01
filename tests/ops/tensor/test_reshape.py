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
    ints,
    make_inference,
    samples,
    vec,
)
from sardonyx._src.ir import Shape, TensorType
from sardonyx._src.ir.dims import Dim

ROW = np.arange(6, dtype=np.float32)
TABLE = f32([[0, 1, 2], [3, 4, 5]])
TALL = f32([[0, 1], [2, 3], [4, 5]])
VERSIONS = (5, 13, 14, 19, 21, 23, 24, 25)

CASES = [
    Case("Reshape", 1, [ROW], [TABLE], {"shape": [2, 3]}),
    Case("Reshape", 1, [TABLE], [TALL], {"shape": [-1, 2], "consumed_inputs": [0]}, "-1"),
    Case("Reshape", 1, [TABLE], [TABLE], {"shape": [0, -1]}, "0 copies"),
    *(Case("Reshape", v, [ROW, i64([2, 3])], [TABLE]) for v in VERSIONS),
    Case("Reshape", 5, [TABLE, i64([3, -1])], [TALL], label="-1"),
    Case("Reshape", 5, [TABLE, i64([0, 0, 1])], [TABLE.reshape(2, 3, 1)], label="0 copies"),
    Case("Reshape", 13, [f32([[7]]), i64([])], [f32(7)], label="to a scalar"),
    Case("Reshape", 13, [f32(7), i64([1, -1])], [f32([[7]])], label="from a scalar"),
    Case(
        "Reshape",
        14,
        [np.zeros((0, 3), np.float32), i64([3, 0])],
        [np.zeros((3, 0), np.float32)],
        {"allowzero": 1},
    ),
    Case(
        "Reshape",
        14,
        [np.zeros((0, 3), np.float32), i64([0, 5])],
        [np.zeros((0, 5), np.float32)],
        label="0 copies 0",
    ),
    Case(
        "Reshape",
        25,
        [np.zeros((0, 3), np.float32), i64([4, -1])],
        [np.zeros((4, 0), np.float32)],
        label="-1 is 0",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, *VERSIONS])
def test_every_element_type_keeps_its_order(version: int) -> None:
    for x in samples("Reshape", version):
        if version == 1:
            assert_case(Case("Reshape", 1, [x.reshape(2, 2)], [x], {"shape": [4]}))
        else:
            assert_case(Case("Reshape", version, [x.reshape(2, 2), i64([4])], [x]))


@pytest.mark.parametrize(
    ("data", "target", "why"),
    [
        ([6], [4], "must have the 6 elements"),
        ([6], [4, -1], "must have the 6 elements"),
        ([6], [-1, -1], "at most one -1"),
        ([6], [-2, -3], "at most one -1"),
        ([6], [6, -2], "at most one -1"),
        ([6], [6, 0], r"each 0 of shape must .*; got \[6, 0\]"),
        ([0, 3], [0, -1], "leaves -1 undefined"),
    ],
)
def test_refuses_shapes_that_do_not_fit(data: list[int], target: list[int], why: str) -> None:
    assert_refused(Case("Reshape", 13, [np.zeros(data, np.float32), i64(target)], [...]), why)
    assert_contradiction(
        make_inference("Reshape", 13, [floats(*data), ints(len(target))], {1: i64(target)}), why
    )


def test_refuses_minus_one_beside_an_honored_zero() -> None:
    assert_refused(
        Case("Reshape", 14, [np.zeros((0, 3), np.float32), i64([0, -1])], [...], {"allowzero": 1}),
        r"shape must .*; got \[0, -1\]",
    )


def test_refuses_a_missing_shape() -> None:
    assert_refused(
        Case("Reshape", 1, [ROW], [...]), "attribute shape must be given: it defines the sizes of the"
    )


# --- inference -------------------------------------------------------------------------------


def infer_reshape(data: TensorType, *target: Dim, **attributes: int) -> Shape | None:
    inputs = [data, ints(len(target))]
    return infer_shape(make_inference("Reshape", 14, inputs, {1: vec(*target)}, **attributes))


def test_minus_one_is_what_the_symbols_leave() -> None:
    assert infer_reshape(floats(N, 6), -1) == (6 * N,)
    assert infer_reshape(floats(N, 6), 2, -1) == (2, 3 * N)
    assert infer_reshape(floats(N, 6), N, -1) == (N, 6)
    assert infer_reshape(floats(N, M, 4), N, -1, 2) == (N, 2 * M, 2)
    assert infer_reshape(floats(N, 3), -1, 2) == (3 * N // 2, 2)


def test_zero_copies_and_cancels() -> None:
    assert infer_reshape(floats(N, M, 4), 0, -1) == (N, 4 * M)
    assert infer_reshape(floats(None, 4, 5), 0, -1) == (None, 20)
    assert infer_reshape(floats(N, 4), 0, 2, -1) == (N, 2, 2)


def test_an_unknown_entry_follows_from_the_others() -> None:
    assert infer_reshape(floats(6, 4), 3, None) == (3, 8)
    assert infer_reshape(floats(6, 4), None, -1) == (None, None)
    assert infer_reshape(floats(N, 4), None, 4) == (N, 4)
    assert infer_reshape(floats(N, 4), N, None) == (N, None)  # with N = 0 it is free


def test_allowzero_makes_zero_a_size() -> None:
    assert infer_reshape(floats(N, 6), 0, 3, allowzero=1) == (0, 3)
    assert infer_reshape(floats(0, 5), 0, 7, allowzero=0) == (0, 7)


def test_without_knowledge_the_rank_stays_or_less() -> None:
    assert infer_shape(make_inference("Reshape", 5, [floats(N), ints(2)])) == (None, None)
    assert infer_shape(make_inference("Reshape", 5, [floats(N), ints(None)])) is None
    assert infer_shape(make_inference("Reshape", 5, [TensorType(FLOAT), ints(2)], {1: vec(N, -1)})) == (
        N,
        None,
    )
    assert infer_shape(make_inference("Reshape", 1, [floats(N, 4)], shape=(-1,))) == (4 * N,)


def test_contradicting_sizes_are_found_where_some_are_symbols() -> None:
    assert_contradiction(
        make_inference("Reshape", 13, [floats(N), ints(2)], {1: i64([1, 0])}),
        "each 0 of shape must copy a size of data of rank 1; got a 0 at 1",
    )
    assert infer_reshape(floats(N, 4), 3, 5) == (3, 5)  # that N * 4 is no 15 is only suggested by a symbol


def test_known_elements_take_the_new_shape() -> None:
    inference = make_inference("Reshape", 13, [ints(2), ints(2)], {0: vec(N, 3), 1: i64([2, -1])})
    assert infer_elements(inference) == [[N], [3]]
    assert infer_elements(make_inference("Reshape", 1, [ints(1)], {0: vec(N)}, shape=(1, 1))) == [[N]]
    assert (
        infer_elements(make_inference("Reshape", 13, [ints(2), ints(1)], {0: vec(N, 3)})) is None
    )  # it may be invalid
    assert infer_elements(make_inference("Reshape", 13, [ints(2), ints(None)], {0: vec(N, 3)})) is None
    assert infer_elements(make_inference("Reshape", 13, [None, ints(1)], {0: vec(N, 3), 1: i64([2])})) is None


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_minus_one_may_replace_any_size(sizes: list[int], data: st.DataObject) -> None:
    x = np.arange(np.prod(sizes), dtype=np.int64)
    target = list(sizes)
    target[data.draw(st.integers(0, len(sizes) - 1))] = -1
    assert_case(Case("Reshape", 13, [x, i64(target)], [x.reshape(sizes)]))

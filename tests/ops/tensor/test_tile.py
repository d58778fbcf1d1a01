import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    M,
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
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
from sardonyx._src.ir import TensorType

X = f32([[1, 2], [3, 4]])
WIDE = f32([[1, 2, 1, 2], [3, 4, 3, 4]])

CASES = [
    Case("Tile", 1, [X, f32(2), f32(1)], [WIDE]),
    Case(
        "Tile", 1, [X, f32([2]), f32([0])], [f32([[1, 2], [3, 4], [1, 2], [3, 4]])], label="one element each"
    ),
    Case("Tile", 6, [X, i64([1, 2])], [WIDE]),
    Case("Tile", 13, [X, i64([2, 2])], [f32([[1, 2, 1, 2], [3, 4, 3, 4]] * 2)]),
    Case("Tile", 13, [X, i64([0, 1])], [np.zeros((0, 2), np.float32)], label="no copies"),
    Case("Tile", 13, [f32(7), i64([])], [f32(7)], label="scalar"),
    Case("Tile", 13, [f32([]), i64([3])], [f32([])], label="empty"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [6, 13])
def test_every_element_type(version: int) -> None:
    for x in samples("Tile", version):
        assert_case(Case("Tile", version, [x, i64([2])], [x[[0, 1, 2, 3, 0, 1, 2, 3]]]))


def test_every_element_type_of_the_first_version() -> None:
    for x in samples("Tile", 1):
        assert_case(
            Case("Tile", 1, [x, np.array(2, x.dtype), np.array(0, x.dtype)], [x[[0, 1, 2, 3, 0, 1, 2, 3]]])
        )


def test_refuses_repeats_that_do_not_fit() -> None:
    assert_refused(
        Case("Tile", 6, [X, i64([2])], [...]),
        r"repeats must have shape \[2\], one number per axis; got \[1\]",
    )
    assert_refused(Case("Tile", 6, [X, i64([2, -1])], [...]), r"repeats must be >= 0; got \[2, -1\]")
    assert_refused(Case("Tile", 1, [X, f32(2), f32(2)], [...]), "axis 2 lies outside")
    assert_contradiction(
        make_inference("Tile", 13, [floats(2, 2), ints(1)]),
        "repeats must have 2 entries, one per axis; got 1",
    )


def test_refuses_a_result_that_is_too_large() -> None:
    assert_too_large(Case("Tile", 13, [np.zeros(8, np.float32), i64([1 << 30])], [...]))


def test_symbolic_sizes_multiply() -> None:
    assert infer_shape(make_inference("Tile", 13, [floats(N, 3), ints(2)], {1: vec(2, M)})) == (2 * N, 3 * M)
    assert infer_shape(make_inference("Tile", 13, [floats(N, 3), ints(2)], {1: vec(None, 2)})) == (None, 6)
    assert infer_shape(make_inference("Tile", 13, [floats(N, 3), ints(None)])) == (None, None)
    assert infer_shape(make_inference("Tile", 13, [TensorType(FLOAT), ints(3)])) == (None, None, None)
    assert infer_shape(
        make_inference("Tile", 1, [floats(N, 3), floats(), floats()], {1: f32(2), 2: f32(-2)})
    ) == (2 * N, 3)
    assert infer_shape(make_inference("Tile", 1, [floats(N, 3), floats(), floats()], {2: f32(1)})) == (
        N,
        None,
    )
    assert infer_shape(make_inference("Tile", 1, [floats(N, 3), floats(), floats()], {1: f32(2)})) == (
        None,
        None,
    )


def test_known_elements_are_repeated() -> None:
    assert infer_elements(make_inference("Tile", 13, [ints(2), ints(1)], {0: vec(N, 2), 1: i64([2])})) == [
        N,
        2,
        N,
        2,
    ]
    assert infer_elements(make_inference("Tile", 13, [ints(2), ints(1)], {0: vec(N, 2), 1: vec(M)})) is None
    assert (
        infer_elements(make_inference("Tile", 13, [ints(2), ints(1)], {0: vec(N, 2), 1: i64([2049])})) is None
    )
    assert infer_elements(make_inference("Tile", 13, [ints(2), ints(1)], {0: vec(N, 2), 1: i64([0])})) == []
    assert (
        infer_elements(make_inference("Tile", 13, [ints(2), ints(1)], {0: vec(N, 2), 1: i64([-1])})) is None
    )
    assert (
        infer_elements(make_inference("Tile", 13, [ints(2), ints(2)], {0: vec(N, 2), 1: i64([1, 1])})) is None
    )

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
    infer_shape,
    infer_types,
    ints,
    make_inference,
    samples,
    strs,
    vec,
)
from sardonyx._src.ir import TensorType

X = f32([[1, 2, 3, 4], [5, 6, 7, 8]])


def line(old: list[float], new: list[float], label: str) -> Case:
    return Case("CenterCropPad", 18, [f32(old), i64([len(new)])], [f32(new)], label=label)


CASES = [
    line([1, 2, 3, 4], [2, 3], "crop, even"),
    line([1, 2, 3, 4], [1, 2, 3], "crop, odd: less from the left"),
    line([1, 2, 3, 4, 5], [2, 3], "crop 5 to 2"),
    line([1, 2], [0, 1, 2, 0], "pad, even"),
    line([1, 2], [1, 2, 0], "pad, odd: more on the right"),
    line([1, 2], [0, 1, 2, 0, 0], "pad 2 to 5"),
    line([1, 2], [1, 2], "no change"),
    line([1, 2], [], "to nothing"),
    line([], [0, 0], "from nothing"),
    Case(
        "CenterCropPad",
        18,
        [X, np.array([4, 2], np.int32)],
        [f32([[0, 0], [2, 3], [6, 7], [0, 0]])],
        label="both, int32",
    ),
    Case("CenterCropPad", 18, [X, i64([2])], [f32([[2, 3], [6, 7]])], {"axes": [1]}, "axes"),
    Case("CenterCropPad", 18, [X, i64([2, 1])], [f32([[2, 3]])], {"axes": [-1, 0]}, "axes in any order"),
    Case("CenterCropPad", 18, [strs(["a"]), i64([3])], [strs(["", "a", ""])], label="strings"),
    Case("CenterCropPad", 18, [f32(1), i64([])], [f32(1)], label="scalar"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_every_element_type() -> None:
    for x in samples("CenterCropPad", 18):
        assert_case(Case("CenterCropPad", 18, [x, i64([2])], [x[1:3]]))


def test_refuses_what_does_not_fit() -> None:
    assert_refused(
        Case("CenterCropPad", 18, [X, i64([1])], [...]),
        r"shape must have 2 sizes >= 0, one per axis; got \[1\]",
    )
    assert_refused(
        Case("CenterCropPad", 18, [X, i64([1, -1])], [...]),
        r"shape must have 2 sizes >= 0, one per axis; got \[1, -1\]",
    )
    assert_refused(Case("CenterCropPad", 18, [X, i64([1])], [...], {"axes": [2]}), "axes 2 lies outside")
    assert_too_large(Case("CenterCropPad", 18, [X, i64([1 << 20, 1 << 20])], [...]))
    assert_contradiction(
        make_inference("CenterCropPad", 18, [floats(2, 3), ints(1)]),
        "shape must have 2 entries, one per axis; got 1",
    )


def test_symbolic_sizes() -> None:
    assert infer_shape(make_inference("CenterCropPad", 18, [floats(N, 3), ints(2)], {1: vec(M, 5)})) == (M, 5)
    assert infer_shape(
        make_inference("CenterCropPad", 18, [floats(N, 3), ints(1)], {1: vec(M)}, axes=(-1,))
    ) == (N, M)
    assert infer_shape(make_inference("CenterCropPad", 18, [floats(N, 3), ints(None)], axes=(1,))) == (
        N,
        None,
    )
    assert infer_types(make_inference("CenterCropPad", 18, [TensorType(FLOAT), ints(1)])) == [
        TensorType(FLOAT)
    ]

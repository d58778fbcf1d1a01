import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    N,
    assert_refused,
    f32,
    floats,
    infer_shape,
    make_inference,
    samples,
)
from sardonyx._src.ir import TensorType

X = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)

CASES = [
    Case("Crop", 1, [X], [f32([[[[5], [9]]]])], {"border": [1, 1, 2, 0]}, "left, top, right, bottom"),
    Case(
        "Crop",
        1,
        [X],
        [f32([[[[5, 6]]]])],
        {"border": [1, 1, 9, 9], "scale": [1, 2]},
        "a window past the border",
    ),
    Case("Crop", 1, [X], [f32([[[[0, 1, 2], [4, 5, 6]]]])], {"scale": [2, 3]}, "a window in the corner"),
    Case("Crop", 1, [X], [f32([[[[1, 2, 3]]]])], {"border": [1, 0, 0, 2]}, "bottom"),
    Case("Crop", 1, [X], [np.zeros((1, 1, 3, 0), np.float32)], {"border": [2, 0, 2, 0]}, "nothing left"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_every_element_type() -> None:
    for x in samples("Crop", 1):
        assert_case(
            Case("Crop", 1, [x.reshape(1, 1, 4, 1)], [x[1:].reshape(1, 1, 3, 1)], {"border": [0, 1, 0, 0]})
        )


def test_refuses_what_does_not_fit() -> None:
    assert_refused(Case("Crop", 1, [X], [...]), "the input must .*; got rank 4, None and None")
    assert_refused(
        Case("Crop", 1, [X[0]], [...], {"scale": [1, 1]}), r"the input must .*; got rank 3, None and \(1, 1\)"
    )
    assert_refused(
        Case("Crop", 1, [X], [...], {"border": [1, 1]}),
        r"border must have 4 and scale 2 numbers; got \(1, 1\) and None",
    )
    assert_refused(
        Case("Crop", 1, [X], [...], {"border": [3, 0, 2, 0]}),
        r"border and scale must .*; got \(3, 0, 2, 0\) and None",
    )
    assert_refused(
        Case("Crop", 1, [X], [...], {"border": [3, 0, 0, 0], "scale": [1, 2]}),
        r"border and scale must .*; got \(3, 0, 0, 0\) and \(1, 2\)",
    )
    assert_refused(
        Case("Crop", 1, [X], [...], {"scale": [4, 1]}), r"border and scale must .*; got None and \(4, 1\)"
    )


def test_symbolic_sizes() -> None:
    assert infer_shape(make_inference("Crop", 1, [floats(N, 3, N, 8)], border=(1, 2, 3, 4))) == (
        N,
        3,
        N - 6,
        4,
    )
    assert infer_shape(
        make_inference("Crop", 1, [floats(N, 3, N, 8)], border=(1, 2, 3, 4), scale=(5, 6))
    ) == (N, 3, 5, 6)
    assert infer_shape(make_inference("Crop", 1, [floats(N, 3, N, 8)])) == (N, 3, None, None)
    assert infer_shape(make_inference("Crop", 1, [TensorType(FLOAT)], scale=(5, 6))) == (None,) * 4

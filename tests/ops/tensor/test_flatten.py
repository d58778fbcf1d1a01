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
    infer_elements,
    infer_shape,
    ints,
    make_inference,
    samples,
    vec,
)
from sardonyx._src.ir import TensorType

VERSIONS = (1, 9, 11, 13, 21, 23, 24, 25)
X = np.arange(6, dtype=np.float32).reshape(1, 2, 3)

CASES = [
    *(Case("Flatten", v, [X], [f32([[0, 1, 2, 3, 4, 5]])]) for v in VERSIONS),
    Case("Flatten", 1, [X], [f32([[0, 1, 2, 3, 4, 5]])], {"axis": 0}, "axis 0"),
    Case("Flatten", 1, [X], [f32([[0, 1, 2], [3, 4, 5]])], {"axis": 2}),
    Case("Flatten", 9, [X], [f32([[0], [1], [2], [3], [4], [5]])], {"axis": 3}, "axis at the rank"),
    Case("Flatten", 11, [X], [f32([[0, 1, 2], [3, 4, 5]])], {"axis": -1}, "axis from the back"),
    Case("Flatten", 13, [X], [f32([[0, 1, 2, 3, 4, 5]])], {"axis": -3}, "axis at minus the rank"),
    Case("Flatten", 13, [f32(5)], [f32([[5]])], {"axis": 0}, "scalar"),
    Case(
        "Flatten", 13, [np.zeros((2, 0, 3), np.float32)], [np.zeros((0, 3), np.float32)], {"axis": 2}, "empty"
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_element_type(version: int) -> None:
    for x in samples("Flatten", version):
        assert_case(Case("Flatten", version, [x], [x.reshape(4, 1)]))


def test_rejects_an_axis_out_of_range() -> None:
    assert_refused(Case("Flatten", 13, [X], [...], {"axis": 4}), r"axis must be in \[-3, 3\]; got 4")
    assert_contradiction(
        make_inference("Flatten", 13, [floats(1, 2)], axis=-3), r"axis must be in \[-2, 2\]; got -3"
    )


def test_symbolic_sizes_multiply() -> None:
    assert infer_shape(make_inference("Flatten", 13, [floats(N, M, 3)])) == (N, 3 * M)
    assert infer_shape(make_inference("Flatten", 13, [floats(N, M, 3)], axis=-1)) == (M * N, 3)
    assert infer_shape(make_inference("Flatten", 13, [floats(None, 3)], axis=2)) == (None, 1)
    assert infer_shape(make_inference("Flatten", 13, [TensorType(FLOAT)])) == (None, None)


def test_known_elements_stay() -> None:
    assert infer_elements(make_inference("Flatten", 13, [ints(2)], {0: vec(N, 3)}, axis=0)) == [[N, 3]]

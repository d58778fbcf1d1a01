import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    N,
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

CASES = [
    *(Case("NonZero", v, [f32([[1, 0], [1, 1]])], [i64([[0, 1, 1], [0, 0, 1]])]) for v in (9, 13)),
    Case("NonZero", 9, [np.array([False, True])], [i64([[1]])], label="bool"),
    Case("NonZero", 13, [f32(5)], [np.zeros((0, 1), np.int64)], label="scalar that is not zero"),
    Case("NonZero", 13, [f32(0)], [np.zeros((0, 0), np.int64)], label="scalar zero"),
    Case("NonZero", 13, [f32([-0.0, np.nan, np.inf])], [i64([[1, 2]])], label="special values"),
    Case("NonZero", 13, [strs(["", "0", "a"])], [i64([[1, 2]])], label="strings"),
    Case("NonZero", 13, [np.array([0, 1j])], [i64([[1]])], label="complex"),
    Case("NonZero", 13, [np.zeros((2, 0), np.float32)], [np.zeros((2, 0), np.int64)], label="empty"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [9, 13])
def test_every_element_type(version: int) -> None:
    for x in samples("NonZero", version):
        kept = [i for i, element in enumerate(x.tolist()) if element]
        assert_case(Case("NonZero", version, [x], [i64([kept])]))


def test_the_data_decide_the_count() -> None:
    assert infer_types(make_inference("NonZero", 9, [floats(N, 3)])) == [
        ints(2, make_inference("NonZero", 9, []).new_dim())
    ]
    assert infer_types(make_inference("NonZero", 9, [TensorType(FLOAT)])) == [
        ints(None, make_inference("NonZero", 9, []).new_dim())
    ]
    assert infer_shape(make_inference("NonZero", 13, [ints(3)], {0: i64([1, 0, 1])})) == (1, 2)


def test_known_elements() -> None:
    assert infer_elements(make_inference("NonZero", 13, [ints(3)], {0: vec(N + 1, 0, -1)})) == [[0, 2]]
    assert infer_elements(make_inference("NonZero", 13, [ints(2)], {0: vec(-N - 1, 2)})) == [[0, 1]]
    assert infer_elements(make_inference("NonZero", 13, [ints(2)], {0: vec(N, 2)})) is None
    assert infer_elements(make_inference("NonZero", 13, [ints(2)], {0: vec(-N, 2)})) is None
    assert infer_elements(make_inference("NonZero", 13, [ints(2)], {0: vec(None, 2)})) is None
    assert infer_shape(make_inference("NonZero", 13, [ints(2)], {0: vec(N + 1, 2)})) == (1, 2)

import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    M,
    N,
    floats,
    i64,
    infer_elements,
    infer_shape,
    make_inference,
    samples,
)
from sardonyx._src.ir import TensorType

X = np.zeros((2, 3, 4), np.float32)
VERSIONS = (1, 13, 15, 19, 21, 23, 24, 25)

CASES = [
    *(Case("Shape", v, [X], [i64([2, 3, 4])]) for v in VERSIONS),
    Case("Shape", 1, [np.zeros((), np.float32)], [i64([])], label="scalar"),
    Case("Shape", 1, [np.zeros((0, 2), np.float32)], [i64([0, 2])], label="empty"),
    Case("Shape", 15, [X], [i64([4])], {"start": -1}, "start from the back"),
    Case("Shape", 15, [X], [i64([2, 3])], {"end": -1}, "end from the back"),
    Case("Shape", 19, [X], [i64([3])], {"start": 1, "end": 2}, "both"),
    Case("Shape", 21, [X], [i64([2, 3, 4])], {"start": -9, "end": 9}, "clamped"),
    Case("Shape", 23, [X], [i64([])], {"start": 2, "end": 1}, "nothing between"),
    Case("Shape", 24, [X], [i64([])], {"start": 3}, "start at the rank"),
    Case("Shape", 25, [X], [i64([])], {"end": -9}, "end before the first axis"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_element_type(version: int) -> None:
    for x in samples("Shape", version):
        assert_case(Case("Shape", version, [x], [i64([4])]))


def test_symbols_become_elements() -> None:
    assert infer_elements(make_inference("Shape", 1, [floats(N, None, 3)])) == [N, None, 3]
    assert infer_elements(make_inference("Shape", 15, [floats(N, M, 3)], start=1)) == [M, 3]
    assert infer_elements(make_inference("Shape", 15, [floats(N, M, 3)], start=-2, end=-1)) == [M]
    assert infer_elements(make_inference("Shape", 15, [floats(2, 3)])) == [2, 3]


def test_count_follows_the_rank() -> None:
    assert infer_shape(make_inference("Shape", 15, [floats(N, M, 3)], start=1)) == (2,)
    assert infer_shape(make_inference("Shape", 15, [TensorType(FLOAT)])) == (None,)
    assert infer_elements(make_inference("Shape", 15, [TensorType(FLOAT)])) is None

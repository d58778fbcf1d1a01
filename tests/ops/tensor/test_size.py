import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    N,
    floats,
    i64,
    infer_elements,
    infer_shape,
    make_inference,
    samples,
)
from sardonyx._src.ir import TensorType

VERSIONS = (1, 13, 19, 21, 23, 24, 25)

CASES = [
    *(Case("Size", v, [np.zeros((2, 3), np.float32)], [i64(6)]) for v in VERSIONS),
    Case("Size", 1, [np.zeros((), np.float32)], [i64(1)], label="scalar"),
    Case("Size", 1, [np.zeros((2, 0), np.float32)], [i64(0)], label="empty"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_element_type(version: int) -> None:
    for x in samples("Size", version):
        assert_case(Case("Size", version, [x], [i64(4)]))


def test_symbolic_sizes_multiply() -> None:
    assert infer_elements(make_inference("Size", 13, [floats(N, 3)])) == 3 * N
    assert infer_elements(make_inference("Size", 13, [floats(None, 0)])) == 0
    assert infer_elements(make_inference("Size", 13, [floats(None, 3)])) is None
    assert infer_elements(make_inference("Size", 13, [TensorType(FLOAT)])) is None
    assert infer_shape(make_inference("Size", 13, [TensorType(FLOAT)])) == ()

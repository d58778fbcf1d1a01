import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    N,
    f32,
    i64,
    infer_elements,
    infer_types,
    ints,
    make_inference,
    samples,
    vec,
)
from sardonyx._src.ir import OptionalType, SequenceType, TensorType
from sardonyx._src.ops.api import RuntimeValue

TABLE: dict[str, RuntimeValue] = {"a": i64(1)}
MAYBE = OptionalType(TensorType(FLOAT, (1,)))

CASES = [
    Case("Identity", 1, [f32([np.inf, -0.5])], [f32([np.inf, -0.5])]),
    Case("Identity", 13, [i64(3)], [i64(3)], label="scalar"),
    Case("Identity", 14, [[f32([1]), f32([2, 3])]], [[f32([1]), f32([2, 3])]], label="sequence"),
    Case("Identity", 16, [f32([1])], [f32([1])], label="optional with value", types={0: MAYBE}),
    Case("Identity", 16, [None], [None], label="optional without value", types={0: MAYBE}),
    *(Case("Identity", version, [i64([4, 5])], [i64([4, 5])]) for version in (19, 21, 23, 24)),
    Case("Identity", 25, [TABLE], [TABLE], label="map"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 13, 14, 16, 19, 21, 23, 24, 25])
def test_every_element_type(version: int) -> None:
    for x in samples("Identity", version):
        assert_case(Case("Identity", version, [x], [x]))


def test_types_and_elements_pass_through() -> None:
    sequence = SequenceType(TensorType(FLOAT, (N,)))
    assert infer_types(make_inference("Identity", 14, [sequence])) == [sequence]
    assert infer_elements(make_inference("Identity", 13, [ints(2)], {0: vec(N, 2)})) == [N, 2]

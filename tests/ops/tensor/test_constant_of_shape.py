import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    INT64,
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
    f32,
    i64,
    infer_elements,
    infer_shape,
    infer_types,
    ints,
    make_inference,
    sample,
    vec,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType
from sardonyx._src.schema import exact

VERSIONS = (9, 20, 21, 23, 24, 25)

CASES = [
    *(Case("ConstantOfShape", v, [i64([2, 3])], [f32([[0, 0, 0], [0, 0, 0]])]) for v in VERSIONS),
    Case("ConstantOfShape", 9, [i64([2])], [i64([7, 7])], {"value": i64([7])}, "value"),
    Case("ConstantOfShape", 9, [i64([2])], [i64([7, 7])], {"value": i64(7)}, "scalar value"),
    Case("ConstantOfShape", 9, [i64([])], [f32(0)], label="scalar"),
    Case(
        "ConstantOfShape",
        20,
        [i64([2, 0])],
        [np.zeros((2, 0), np.bool_)],
        {"value": np.array([True])},
        "empty",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_element_type(version: int) -> None:
    schema = exact("", "ConstantOfShape", version)
    assert schema is not None
    for text in schema.type_constraints["T2"]:
        x = sample(DataType.parse(text[7:-1]))
        assert_case(Case("ConstantOfShape", version, [i64([2])], [x[[1, 1]]], {"value": x[1:2]}))


def test_refuses_what_is_no_shape() -> None:
    assert_refused(
        Case("ConstantOfShape", 9, [i64([2, -1])], [...]), r"sizes of the shape must be >= 0; got \[2, -1\]"
    )
    assert_refused(
        Case("ConstantOfShape", 9, [i64([2])], [...], {"value": i64([1, 2])}),
        "value must have one element; got 2",
    )
    assert_contradiction(
        make_inference("ConstantOfShape", 9, [ints(1)], {0: i64([-1])}),
        r"sizes of the shape must be >= 0; got \(-1,\)",
    )
    assert_too_large(Case("ConstantOfShape", 9, [i64([1 << 40])], [...]))


def test_the_type_is_that_of_the_value() -> None:
    assert infer_types(make_inference("ConstantOfShape", 9, [ints(1)])) == [
        TensorType(DataType.FLOAT, (None,))
    ]
    assert infer_types(make_inference("ConstantOfShape", 9, [ints(1)], value=i64([1]))) == [
        TensorType(INT64, (None,))
    ]


def test_symbolic_shapes() -> None:
    assert infer_shape(make_inference("ConstantOfShape", 9, [ints(2)], {0: vec(N, 3)})) == (N, 3)
    assert infer_shape(make_inference("ConstantOfShape", 9, [ints(None)])) is None


def test_known_elements() -> None:
    assert infer_elements(make_inference("ConstantOfShape", 9, [ints(1)], {0: i64([2])}, value=i64([7]))) == [
        7,
        7,
    ]
    assert (
        infer_elements(make_inference("ConstantOfShape", 9, [ints(1)], {0: i64([5000])}, value=i64([7])))
        is None
    )
    assert (
        infer_elements(make_inference("ConstantOfShape", 9, [ints(1)], {0: vec(N)}, value=i64([7]))) is None
    )

import numpy as np
import pytest

from cases import Case, check
from ops.tensor.questions import (
    INT64,
    N,
    asked,
    contradicts,
    f32,
    i64,
    ints,
    refused,
    sample,
    shape,
    too_large,
    types,
    value,
    vec,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.types import TensorType
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
    check(case)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_element_type(version: int) -> None:
    schema = exact("", "ConstantOfShape", version)
    assert schema is not None
    for text in schema.type_constraints["T2"]:
        x = sample(DataType.parse(text[7:-1]))
        check(Case("ConstantOfShape", version, [i64([2])], [x[[1, 1]]], {"value": x[1:2]}))


def test_refuses_what_is_no_shape() -> None:
    refused(Case("ConstantOfShape", 9, [i64([2, -1])], [...]), "no size may be negative")
    refused(
        Case("ConstantOfShape", 9, [i64([2])], [...], {"value": i64([1, 2])}),
        "2 elements, where one is wanted",
    )
    contradicts(asked("ConstantOfShape", 9, [ints(1)], {0: i64([-1])}), "negative size")
    too_large(Case("ConstantOfShape", 9, [i64([1 << 40])], [...]))


def test_the_type_is_that_of_the_value() -> None:
    assert types(asked("ConstantOfShape", 9, [ints(1)])) == [TensorType(DataType.FLOAT, (None,))]
    assert types(asked("ConstantOfShape", 9, [ints(1)], value=i64([1]))) == [TensorType(INT64, (None,))]


def test_symbolic_shapes() -> None:
    assert shape(asked("ConstantOfShape", 9, [ints(2)], {0: vec(N, 3)})) == (N, 3)
    assert shape(asked("ConstantOfShape", 9, [ints(None)])) is None


def test_known_elements() -> None:
    assert value(asked("ConstantOfShape", 9, [ints(1)], {0: i64([2])}, value=i64([7]))) == [7, 7]
    assert value(asked("ConstantOfShape", 9, [ints(1)], {0: i64([5000])}, value=i64([7]))) is None
    assert value(asked("ConstantOfShape", 9, [ints(1)], {0: vec(N)}, value=i64([7]))) is None

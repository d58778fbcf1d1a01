import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    INT64,
    N,
    assert_refused,
    assert_too_large,
    f32,
    floats,
    i64,
    infer_shape,
    infer_types,
    ints,
    make_inference,
    vec,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType

X = np.zeros((2, 1), np.float32)

CASES = [
    Case("ConstantFill", 1, [], [f32([[0, 0]])], {"shape": [1, 2]}),
    Case("ConstantFill", 1, [], [i64([3, 3])], {"shape": [2], "value": 3.0, "dtype": 7}, "int64"),
    Case("ConstantFill", 1, [], [np.array([True])], {"shape": [1], "value": 1.0, "dtype": 9}, "bool"),
    Case(
        "ConstantFill", 1, [], [np.array([-2], np.int32)], {"shape": [1], "value": -2.0, "dtype": 6}, "int32"
    ),
    Case("ConstantFill", 1, [X], [f32([[5], [5]])], {"value": 5.0}, "shape of the input"),
    Case(
        "ConstantFill", 1, [X], [f32([[[5, 5]], [[5, 5]]])], {"value": 5.0, "extra_shape": [2]}, "extra_shape"
    ),
    Case(
        "ConstantFill",
        1,
        [i64([1, 2])],
        [f32([[5, 5]])],
        {"value": 5.0, "input_as_shape": 1},
        "input_as_shape",
    ),
    Case(
        "ConstantFill", 1, [i64([1])], [f32([[0, 0]])], {"input_as_shape": 1, "extra_shape": [2]}, "all of it"
    ),
    Case("GivenTensorFill", 1, [], [f32([[1, 2]])], {"shape": [1, 2], "values": [1.0, 2.0]}),
    Case("GivenTensorFill", 1, [X], [f32([[1], [2]])], {"values": [1.0, 2.0]}, "shape of the input"),
    Case(
        "GivenTensorFill",
        1,
        [np.array([2.0])],
        [np.array([1.0, 2.0])],
        {"values": [1.0, 2.0], "input_as_shape": 1},
        "as",
    ),
    Case("GivenTensorFill", 1, [], [f32([])], {"shape": [0]}, "no values"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_refuses_what_does_not_fit() -> None:
    assert_refused(
        Case("ConstantFill", 1, [], [...]), "exactly one of attribute shape and the input must be given;"
    )
    assert_refused(
        Case("ConstantFill", 1, [X], [...], {"shape": [1]}),
        "exactly one of attribute shape and the input must be given;",
    )
    assert_refused(
        Case("ConstantFill", 1, [], [...], {"shape": [1], "extra_shape": [1]}),
        "exactly one of attribute shape and the input must be given;",
    )
    assert_refused(
        Case("ConstantFill", 1, [], [...], {"shape": [2, -1]}),
        r"sizes of the shape must be >= 0; got \[2, -1\]",
    )
    assert_refused(
        Case("ConstantFill", 1, [], [...], {"shape": [1], "dtype": 11}),
        "dtype must be one of FLOAT, INT32, INT64, BOOL; got 11",
    )
    assert_refused(
        Case("GivenTensorFill", 1, [], [...], {"shape": [2], "values": [1.0]}),
        "must have the number of elements",
    )
    assert_too_large(Case("ConstantFill", 1, [], [...], {"shape": [1 << 40]}))


def test_types() -> None:
    assert infer_types(make_inference("ConstantFill", 1, [], dtype=7, shape=(2,))) == [
        TensorType(INT64, (2,))
    ]
    assert infer_shape(make_inference("ConstantFill", 1, [floats(N, 3)], extra_shape=(2,))) == (N, 3, 2)
    assert infer_shape(make_inference("ConstantFill", 1, [ints(2)], {0: vec(N, 3)}, input_as_shape=1)) == (
        N,
        3,
    )
    assert infer_shape(make_inference("ConstantFill", 1, [ints(None)], input_as_shape=1)) is None
    assert infer_types(make_inference("GivenTensorFill", 1, [TensorType(DataType.DOUBLE, (N,))])) == [
        TensorType(DataType.DOUBLE, (N,))
    ]
    assert infer_types(make_inference("GivenTensorFill", 1, [None])) == [None]

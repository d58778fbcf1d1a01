import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    INT64,
    assert_contradiction,
    assert_refused,
    assert_too_large,
    f32,
    i64,
    infer_elements,
    infer_types,
    make_inference,
    samples,
    strs,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Attribute, SparseTensor, Tensor, TensorType
from sardonyx._src.ir.attributes import AttributeType

VERSIONS = (1, 9, 11, 12, 13, 19, 21, 23, 24, 25)


def sparse(indices: object, shape: tuple[int, ...]) -> SparseTensor:
    return SparseTensor(Tensor.of(f32([7, 9])), Tensor.of(i64(indices)), shape)


CASES = [
    *(Case("Constant", v, [], [f32([[1, 2]])], {"value": f32([[1, 2]])}) for v in VERSIONS),
    Case(
        "Constant",
        11,
        [],
        [f32([[0, 7, 0], [0, 9, 0]])],
        {"sparse_value": sparse([1, 4], (2, 3))},
        "linear indices",
    ),
    Case(
        "Constant",
        13,
        [],
        [f32([[0, 7], [9, 0]])],
        {"sparse_value": sparse([[0, 1], [1, 0]], (2, 2))},
        "tuples",
    ),
    Case("Constant", 12, [], [f32(1.5)], {"value_float": 1.5}, "float"),
    Case("Constant", 13, [], [f32([1.5, -0.0])], {"value_floats": [1.5, -0.0]}, "floats"),
    Case("Constant", 12, [], [i64(-3)], {"value_int": -3}, "int"),
    Case("Constant", 25, [], [i64([3, 4])], {"value_ints": [3, 4]}, "ints"),
    Case(
        "Constant",
        13,
        [],
        [i64([])],
        {"value_ints": Attribute("value_ints", AttributeType.INTS, ())},
        "no ints",
    ),
    Case("Constant", 12, [], [strs("ü")], {"value_string": "ü"}, "string"),
    Case("Constant", 12, [], [strs(["a", ""])], {"value_strings": ["a", ""]}, "strings"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_element_type(version: int) -> None:
    for x in samples("Constant", version):
        assert_case(Case("Constant", version, [], [x], {"value": x}))


def test_exactly_one_attribute_is_required() -> None:
    assert_refused(
        Case("Constant", 13, [], [...]),
        "exactly one of value, sparse_value, value_float, value_floats, value_int, value_ints, value_string, value_strings must .*; got none",
    )
    assert_refused(
        Case("Constant", 13, [], [...], {"value_int": 1, "value_float": 1.0}),
        "exactly one of value, sparse_value, value_float, value_floats, value_int, value_ints, value_string, value_strings must .*; got value_float and value_int",
    )
    assert_contradiction(make_inference("Constant", 13, []), "exactly one")


def test_a_sparse_bomb_is_not_made_dense() -> None:
    assert_too_large(Case("Constant", 11, [], [...], {"sparse_value": sparse([1, 4], (1 << 40,))}))


def test_type_of_each_form() -> None:
    assert infer_types(make_inference("Constant", 13, [], value_strings=("a", "b"))) == [
        TensorType(DataType.STRING, (2,))
    ]
    assert infer_types(make_inference("Constant", 13, [], value_float=1.0)) == [TensorType(FLOAT, ())]
    assert infer_types(make_inference("Constant", 13, [], value_ints=(1,))) == [TensorType(INT64, (1,))]
    assert infer_types(make_inference("Constant", 11, [], sparse_value=sparse([1, 4], (2, 3)))) == [
        TensorType(FLOAT, (2, 3))
    ]


def test_integers_are_known_elements_and_strings_are_not() -> None:
    assert infer_elements(make_inference("Constant", 13, [], value_ints=(3, 4))) == [3, 4]
    assert infer_elements(make_inference("Constant", 13, [], value=i64(5))) == 5
    assert infer_elements(make_inference("Constant", 13, [], value_string="a")) is None
    assert infer_elements(make_inference("Constant", 13, [], value=np.zeros(5000, np.int64))) is None

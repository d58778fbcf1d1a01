from collections.abc import Mapping
from typing import cast

import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, MapType, TensorType
from sardonyx._src.ops.api import RuntimeValue

F, D, ML = np.float32, np.float64, "ai.onnx.ml"
VOCABULARY = {"string_vocabulary": ["a", "c", "b", "z"]}


def case(
    x: Mapping[str, Array] | Mapping[int, Array], y: Array, label: object = "", **attributes: object
) -> Case:
    return Case("DictVectorizer", 1, [cast(RuntimeValue, x)], [y], attributes, domain=ML, label=str(label))


CASES = [
    case(
        {"a": np.array(4, F), "c": np.array(8, F)},
        np.array([[4, 8, 0, 0]], F),
        "the text's own example",
        **VOCABULARY,
    ),
    case({"z": np.array(4, D), "a": np.array(8, D)}, np.array([[8, 0, 0, 4]], D), **VOCABULARY),
    case({"b": np.array(4)}, np.array([[0, 0, 4, 0]]), **VOCABULARY),
    case(
        {"a": np.array(4, F), "q": np.array(8, F)},
        np.array([[4, 0, 0, 0]], F),
        "a key without place",
        **VOCABULARY,
    ),
    case({3: np.array("x", object)}, np.array([["", "x"]], object), int64_vocabulary=[1, 3]),
    case({3: np.array([2], F)}, np.array([[0, 2]], F), "a value of shape [1]", int64_vocabulary=[1, 3]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "one of int64_vocabulary and string_vocabulary must be set; got both or none"),
        (
            {**VOCABULARY, "int64_vocabulary": [1]},
            "one of int64_vocabulary and string_vocabulary must be set; got both or none",
        ),
        ({"string_vocabulary": ["a", "a"]}, "the keys of the vocabulary must be distinct"),
    ],
)
def test_bad_vocabularies_are_refused(attributes: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case({"a": np.array(1, F)}, np.zeros(0), **attributes))


def test_types_of_results() -> None:
    x = MapType(DataType.STRING, TensorType(DataType.DOUBLE, ()))
    assert infer_node("DictVectorizer", 1, [x], {"string_vocabulary": ("a", "b")}, domain=ML) == [
        TensorType(DataType.DOUBLE, (1, 2))
    ]
    assert infer_node("DictVectorizer", 1, [None], {"string_vocabulary": ("a", "b")}, domain=ML) == [None]

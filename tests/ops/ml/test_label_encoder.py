import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, TensorType

F, ML = np.float32, "ai.onnx.ml"
NAN = float("nan")


def text(*values: str) -> Array:
    return np.array(values, object)


def case(version: int, x: Array, y: Array, label: object = "", **attributes: object) -> Case:
    return Case("LabelEncoder", version, [x], [y], attributes, domain=ML, label=str(label))


NAMES = {"keys_strings": ["Amy", "Sally"], "values_int64s": [5, 6], "default_int64": -1}
ASKED = text("Dori", "Amy", "Amy", "Sally", "Sally")
OTHER_NAN = np.array([0x7FC00001], np.uint32).view(F)

CASES = [
    case(1, text("b", "z", "a"), np.array([1, -1, 0]), classes_strings=["a", "b"]),
    case(1, text("z"), np.array([7]), classes_strings=["a"], default_int64=7),
    case(1, np.array([[1, 0], [2, -1]]), np.array([["b", "a"], ["_Unused"] * 2], object), classes_strings=["a", "b"]),
    case(1, np.array([9]), text("?"), classes_strings=["a"], default_string="?"),
    case(1, text("a"), np.array([1]), "twice", classes_strings=["a", "a"]),
    case(2, ASKED, np.array([-1, 5, 5, 6, 6]), "the text's own example", **NAMES),
    case(2, np.array([[1, 3]]), np.array([[0.5, -0.0]], F), keys_int64s=[1, 2], values_floats=[0.5, 1.5]),
    case(2, np.array([1.5, 2], F), text("x", "_Unused"), keys_floats=[1.5], values_strings=["x"]),
    case(2, np.array([NAN, 1], F), np.array([8, 7]), "NaN", keys_floats=[1.0, NAN], values_int64s=[7, 8]),
    case(2, OTHER_NAN, np.array([-1]), "other bits", keys_floats=[NAN], values_int64s=[8]),
    case(2, np.array([0, -0.0], F), np.array([8, -1]), "other bits", keys_floats=[0.0], values_int64s=[8]),
    case(2, np.array([1]), text("x"), "the first of two", keys_int64s=[1, 1], values_strings=["x", "y"]),
    case(4, ASKED, np.array([-1, 5, 5, 6, 6]), "the text's own example", **NAMES),
    case(4, OTHER_NAN, np.array([8]), "any NaN", keys_floats=[NAN], values_int64s=[8]),
    case(4, np.array([0, -0.0], F), np.array([8, 8]), "-0 is 0", keys_floats=[0.0], values_int64s=[8]),
    case(4, np.array([1]), text("y"), "the last of two", keys_int64s=[1, 1], values_strings=["x", "y"]),
    case(4, text("b", "z"), np.array([2, 42], np.int16), keys_tensor=text("a", "b"), values_tensor=np.array([1, 2], np.int16),
         default_tensor=np.array([42], np.int16)),
    case(4, np.array([0.5, NAN, 3]), np.array([1.5, 2.5, -0.0]), "double", keys_tensor=np.array([0.5, NAN]), values_tensor=np.array([1.5, 2.5])),
    case(4, np.array([7, 8], np.int32), text("x", "_Unused"), keys_tensor=np.array([7], np.int32), values_tensor=text("x")),
    case(4, np.array([7, 8], np.int16), np.array([1, -1], np.int32), keys_tensor=np.array([7], np.int16), values_tensor=np.array([1], np.int32)),
    case(4, text("a", "z"), np.array([1, -1]), "list and tensor", keys_strings=["a"], values_tensor=np.array([1])),
    case(4, np.zeros((0, 2), np.int64), np.zeros((0, 2), object), "empty", keys_int64s=[1], values_strings=["x"]),
    case(4, np.array(1), np.array("x", object), "scalar", keys_int64s=[1], values_strings=["x"]),
    case(4, np.array([1]), np.array([-1]), "no keys", keys_tensor=np.array([], np.int64), values_tensor=np.array([], np.int64)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
    (expected,) = case.expected
    if isinstance(expected, np.ndarray) and expected.dtype.kind == "f":
        assert np.signbit(expected[expected == 0]).all(), "the default is -0"


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"keys_int64s": [1], "values_int64s": [1, 2]}, "keys and values must be of one length; got 1 and 2"),
        ({"values_int64s": [1]}, "there must be one list of keys; got none"),
        (
            {"keys_int64s": [1], "keys_tensor": np.array([1]), "values_int64s": [1]},
            "keys_int64s.*keys_tensor",
        ),
        ({"keys_int64s": [1]}, "there must be one list of values; got none"),
        (
            {"keys_floats": [1.0], "values_int64s": [1]},
            "X must have the type of the keys, float32; got int64",
        ),
        (
            {"keys_int64s": [1], "values_tensor": np.array([1]), "default_tensor": np.array([1, 2])},
            r"default_tensor must be one element of int64; got int64\[2\]",
        ),
    ],
)
def test_bad_tables_are_refused(attributes: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(4, np.array([1]), text(), **attributes))
    lists = {k: tuple(v) if isinstance(v, list) else v for k, v in attributes.items()}
    with pytest.raises(InferenceError, match=message):
        infer_node("LabelEncoder", 4, [TensorType(DataType.INT64, (1,))], lists, domain=ML)


def test_the_values_determine_the_type() -> None:
    strings, numbers = TensorType(DataType.STRING, (2,)), TensorType(DataType.INT64, (2,))
    assert infer_node("LabelEncoder", 1, [strings], {"classes_strings": ("a",)}, domain=ML) == [numbers]
    assert infer_node("LabelEncoder", 1, [numbers], {"classes_strings": ("a",)}, domain=ML) == [strings]
    assert infer_node(
        "LabelEncoder", 2, [numbers], {"keys_int64s": (1,), "values_floats": (1.0,)}, domain=ML
    ) == [floats(2)]
    tensor = {"keys_int64s": (1,), "values_tensor": np.zeros(1, np.int16)}
    assert infer_node("LabelEncoder", 4, [numbers], tensor, domain=ML) == [TensorType(DataType.INT16, (2,))]

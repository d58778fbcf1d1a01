import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, MapType, TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.api import RuntimeValue

F, ML = np.float32, "ai.onnx.ml"
NUMBERS: dict[int, RuntimeValue] = {3: np.array(1.75, F), 1: np.array(-2.5, F)}
STRINGS: dict[int, RuntimeValue] = {3: np.array("15", object), 1: np.array("7", object)}


def case(x: dict[int, RuntimeValue], y: Array, label: object = "", **attributes: object) -> Case:
    return Case("CastMap", 1, [x], [y], attributes, domain=ML, label=str(label))


CASES = [
    case(NUMBERS, np.array([[-2.5, 1.75]], F), "in order of the keys"),
    case(NUMBERS, np.array([[-2, 1]]), cast_to="TO_INT64"),
    case(NUMBERS, np.array([["-2.5", "1.75"]], object), cast_to="TO_STRING"),
    case(NUMBERS, np.array([[0, -2.5, 0, 1.75, 0]], F), map_form="SPARSE", max_map=5),
    case(NUMBERS, np.array([[0, -2.5]], F), "no place for key 3", map_form="SPARSE", max_map=2),
    case(STRINGS, np.array([["", "7", "", "15"]], object), map_form="SPARSE", max_map=4, cast_to="TO_STRING"),
    case(STRINGS, np.array([[7, 15]], F)),
    case(STRINGS, np.array([[7, 15]]), cast_to="TO_INT64"),
    case({5: np.array([2], F)}, np.array([[2]], F), "a value of shape [1]"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("x", "attributes", "message"),
    [
        (
            {-1: np.array(1, F)},
            {"map_form": "SPARSE", "max_map": 3},
            "max_map and the keys must not be negative; got 3 and key -1",
        ),
        (
            NUMBERS,
            {"map_form": "SPARSE", "max_map": -1},
            "max_map and the keys must not be negative; got -1 and key 1",
        ),
        ({1: np.zeros(2, F)}, {}, r"a value of the map must have one element; got shape \[2\]"),
        (
            {1: np.array("x", object)},
            {},
            "a string cast to a number must hold a decimal, INF, -INF or NaN; got 'x'",
        ),
    ],
)
def test_bad_values_are_refused(
    x: dict[int, RuntimeValue], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(x, np.zeros(0), **attributes))


def test_types_of_results() -> None:
    x = MapType(DataType.INT64, TensorType(DataType.FLOAT, ()))
    sparse = {"map_form": "SPARSE", "max_map": 5, "cast_to": "TO_INT64"}
    assert infer_node("CastMap", 1, [x], sparse, domain=ML) == [TensorType(DataType.INT64, (1, 5))]
    assert infer_node("CastMap", 1, [x], domain=ML) == [TensorType(DataType.FLOAT, (1, symbol("new0")))]
    with pytest.raises(InferenceError, match=r"input 0 must be a map; got float\[\]"):
        infer_node("CastMap", 1, [TensorType(DataType.FLOAT, ())], domain=ML)

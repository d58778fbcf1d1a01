import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import OptionalType, SequenceType, TensorType, Type

X = np.array([1, 2], np.float32)
FLOATS = TensorType(DataType.FLOAT, (2,))
YES, NO = np.array(True), np.array(False)
OPTIONAL: dict[int, Type] = {0: OptionalType(FLOATS)}
OPTIONAL_SEQUENCE: dict[int, Type] = {0: OptionalType(SequenceType(FLOATS))}

CASES = [
    *(Case("Optional", v, [X], [X]) for v in (15, 28)),
    Case("Optional", 15, [[X, X]], [[X, X]], label="of a sequence"),
    *(Case("Optional", v, [], [None], {"type": FLOATS}, "empty") for v in (15, 28)),
    Case("Optional", 15, [X], [X], {"type": FLOATS}, "input and type"),
    *(Case("OptionalHasElement", v, [X], [YES], types=OPTIONAL) for v in (15, 18, 28)),
    *(Case("OptionalHasElement", v, [None], [NO], types=OPTIONAL, label="empty") for v in (15, 18, 28)),
    *(Case("OptionalHasElement", v, [], [NO], label="no input") for v in (18, 28)),
    *(Case("OptionalHasElement", v, [X], [YES], label="a tensor") for v in (18, 28)),
    *(Case("OptionalHasElement", v, [[X]], [YES], label="a sequence") for v in (18, 28)),
    *(Case("OptionalGetElement", v, [X], [X], types=OPTIONAL) for v in (15, 18, 28)),
    *(Case("OptionalGetElement", v, [[X]], [[X]], types=OPTIONAL_SEQUENCE) for v in (15, 18, 28)),
    *(Case("OptionalGetElement", v, [X], [X], label="a tensor") for v in (18, 28)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [15, 18, 28])
def test_an_empty_optional_has_no_element(version: int) -> None:
    with pytest.raises(EvaluationError, match="the optional must have an element; got an empty one"):
        assert_case(Case("OptionalGetElement", version, [None], [...], types=OPTIONAL))


@pytest.mark.parametrize("version", [15, 28])
def test_an_optional_needs_an_input_or_a_type(version: int) -> None:
    with pytest.raises(
        EvaluationError, match="Optional must have an input or the attribute `type`; got neither"
    ):
        assert_case(Case("Optional", version, [], [...]))
    with pytest.raises(
        InferenceError, match="Optional must have an input or the attribute `type`; got neither"
    ):
        infer_node("Optional", version, [])


def test_types_go_in_and_out() -> None:
    assert infer_node("Optional", 15, [floats("N")]) == [OptionalType(floats("N"))]
    assert infer_node("Optional", 15, [], {"type": FLOATS}) == [OptionalType(FLOATS)]
    assert infer_node("OptionalGetElement", 15, [OptionalType(floats("N"))]) == [floats("N")]
    assert infer_node("OptionalGetElement", 18, [floats("N")]) == [floats("N")]

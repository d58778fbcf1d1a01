import numpy as np
import pytest

from cases import Case, assert_case, model_of
from ops.control.node_inference import infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError, LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.api import RunLimits


def text(*values: object) -> Array:
    return np.array(values, object)


CASES = [
    Case("StringConcat", 20, [text("a", "b"), text("x", "y")], [text("ax", "by")]),
    Case("StringConcat", 20, [text("a", "b"), text("x")], [text("ax", "bx")], label="one for all"),
    Case("StringConcat", 20, [text(["a"], ["b"]), text("x", "y")], [text(["ax", "ay"], ["bx", "by"])], label="both ways"),
    Case("StringConcat", 20, [np.array("a", object), np.array("x", object)], [np.array("ax", object)], label="scalars"),
    Case("StringConcat", 20, [text("", "é"), text("x", "")], [text("x", "é")], label="empty strings"),
    Case("StringConcat", 20, [np.zeros((0, 2), object), text("x")], [np.zeros((0, 2), object)], label="empty"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    with pytest.raises(EvaluationError):
        assert_case(Case("StringConcat", 20, [text("a", "b"), text("x", "y", "z")], [...]))
    two, three = TensorType(DataType.STRING, (2,)), TensorType(DataType.STRING, (3,))
    with pytest.raises(InferenceError, match="2 and 3"):
        infer_node("StringConcat", 20, [two, three])


def test_text_that_is_too_long_is_refused() -> None:
    x = text("a" * 600)
    model = model_of(Case("StringConcat", 20, [x, x], [...]))
    with pytest.raises(LimitError, match="text of StringConcat's result"):
        Interpreter(model, limits=RunLimits(bytes=1000)).run({"x0": x, "x1": x})
    with pytest.raises(LimitError, match="StringConcat result of shape"):
        Interpreter(model, limits=RunLimits(bytes=7)).run({"x0": x, "x1": x})


def test_shapes_broadcast() -> None:
    n = symbol("N")
    x, y = TensorType(DataType.STRING, (n, 1)), TensorType(DataType.STRING, (3,))
    assert infer_node("StringConcat", 20, [x, y]) == [TensorType(DataType.STRING, (n, 3))]

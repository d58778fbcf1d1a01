import numpy as np
import pytest

from cases import Case, assert_case, model_of
from ops.control.node_inference import infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.api import RunLimits


def case(x: Array, y: list[object], counts: object, label: object = "", **attributes: object) -> Case:
    pieces = np.array(y, object).reshape(*x.shape, -1) if x.size else np.zeros((*x.shape, 0), object)
    return Case("StringSplit", 20, [x], [pieces, np.array(counts, np.int64)], attributes, str(label))


def text(*values: object) -> Array:
    return np.array(values, object)


CASES = [
    case(text("abc.com", "def.net"), [["abc", "com"], ["def", "net"]], [2, 2], delimiter="."),
    case(text("a,,b", ",c"), [["a", "", "b"], ["", "c", ""]], [3, 2], "pieces may be empty", delimiter=","),
    case(text("a--b-c"), [["a", "b-c"]], [2], "several characters", delimiter="--"),
    case(text("a b c", "d"), [["a", "b c"], ["d", ""]], [2, 1], delimiter=" ", maxsplit=1),
    case(text("a,b"), [["a,b"]], [1], "no split", delimiter=",", maxsplit=0),
    case(text("a,b"), [["a", "b"]], [2], "no limit", delimiter=",", maxsplit=-1),
    case(text("", "a"), [[""], ["a"]], [1, 1], "an empty string is one piece", delimiter=","),
    case(text(" a \t b\n", ""), [["a", "b"], ["", ""]], [2, 0], "white space"),
    case(text(" a  b "), [["a", "b"]], [2], "an empty delimiter", delimiter=""),
    case(text(" a  b  c "), [["a", "b  c"]], [2], "trailing white space is removed", maxsplit=1),
    case(text(" a  b "), [["a  b"]], [1], maxsplit=0),
    case(np.array("a b", object), ["a", "b"], 2, "scalar"),
    case(text(["a b", "c"]), [[["a", "b"], ["c", ""]]], [[2, 1]], "two axes"),
    case(np.zeros((0, 3), object), [], np.zeros((0, 3)), "empty"),
    case(text("", " "), [[], []], [0, 0], "nothing but white space"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_a_result_that_is_too_large_is_refused() -> None:
    rows = text(*["a"] * 1000, "," * 1000)
    model = model_of(case(rows, [[] for _ in range(1001)], [0] * 1001, delimiter=","))
    with pytest.raises(LimitError, match="StringSplit result"):
        Interpreter(model, limits=RunLimits(bytes=1_000_000)).run({"x0": rows})


def test_types_of_results() -> None:
    n, new = symbol("N"), symbol("new0")
    y, z = infer_node("StringSplit", 20, [TensorType(DataType.STRING, (n, 2))], outputs=2)
    assert y == TensorType(DataType.STRING, (n, 2, new))
    assert z == TensorType(DataType.INT64, (n, 2))
    uncut, _ = infer_node(
        "StringSplit", 20, [TensorType(DataType.STRING, (2,))], {"maxsplit": 0, "delimiter": ","}, outputs=2
    )
    assert uncut == TensorType(DataType.STRING, (2, 1))
    empty, _ = infer_node("StringSplit", 20, [TensorType(DataType.STRING, (n, 0))], outputs=2)
    assert empty == TensorType(DataType.STRING, (n, 0, 0))
    assert infer_node("StringSplit", 20, [None], outputs=2) == [
        TensorType(DataType.STRING),
        TensorType(DataType.INT64),
    ]

from collections.abc import Sequence

import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Graph, SequenceType, TensorType, Type, Value
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ops.inference import Known

F = np.float32
ONE, TWO = np.array([1], F), np.array([[2, 3]], F)


def adding() -> Graph:
    """x, y -> x + y, x."""
    b = GraphBuilder(17)
    x, y = b.input("x", DataType.FLOAT), b.input("y", DataType.FLOAT)
    b.output(b.Add(x, y), "sum")
    b.output(b.Identity(x), "same")
    return b.graph


CASES = [
    Case("SequenceMap", 17, [[ONE, TWO], [ONE, ONE]], [[ONE + 1, TWO + 1], [ONE, TWO]], {"body": adding()}),
    Case(
        "SequenceMap",
        17,
        [[ONE, TWO], ONE],
        [[ONE + 1, TWO + 1], [ONE, TWO]],
        {"body": adding()},
        "with a tensor",
    ),
    Case("SequenceMap", 17, [[ONE], ONE], [[ONE + 1]], {"body": adding()}, "one output requested"),
    Case(
        "SequenceMap",
        17,
        [[], ONE],
        [[], []],
        {"body": adding()},
        "nothing to map",
        types={0: SequenceType(TensorType(DataType.FLOAT))},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_sequences_are_of_one_length() -> None:
    with pytest.raises(EvaluationError, match="input 1 must have 2 elements, as input 0 has; got 1"):
        assert_case(Case("SequenceMap", 17, [[ONE, TWO], [ONE]], [..., ...], {"body": adding()}))


def test_the_body_determines_the_element_type() -> None:
    def bodies(
        graph: Graph, inputs: Sequence[Type | None], known: Sequence[Known | None]
    ) -> list[Type | None]:
        assert list(inputs) == [floats("N"), floats(3)]
        return [floats("N", 3)]

    body = Graph("b")
    for name in ("x0", "x1"):
        body.add_input(Value(name))
    given: list[Type | None] = [SequenceType(floats("N")), floats(3)]
    types = infer_node("SequenceMap", 17, given, {"body": body}, bodies=bodies)
    assert types == [SequenceType(floats("N", 3))]
    assert infer_node("SequenceMap", 17, given, {"body": body}) == [SequenceType(None)]
    with pytest.raises(InferenceError, match="the body must have 2 outputs; got 1"):
        infer_node("SequenceMap", 17, given, {"body": body}, outputs=2, bodies=bodies)
    with pytest.raises(InferenceError, match="the body must have 1 inputs; got 2"):
        infer_node("SequenceMap", 17, given[:1], {"body": body}, bodies=bodies)

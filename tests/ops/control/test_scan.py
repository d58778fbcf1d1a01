from collections.abc import Sequence

import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError, LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Graph, Node, TensorType, Type, Value
from sardonyx._src.ir.build import GraphBuilder, attribute
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.ops.inference import Known

F = np.float32
FLOAT = DataType.FLOAT


def summing(opset: int = 21, shape: Sequence[int | str] | None = (2,)) -> Graph:
    """total, x -> total + x, total + x: running sums."""
    b = GraphBuilder(opset)
    total, x = b.input("t", FLOAT), b.input("x", FLOAT)
    b.output(b.Add(total, x), "t_out")
    b.output(b.Identity(b.graph.outputs[0]), "sums", None if shape is None else b.tensor(FLOAT, shape))
    return b.graph


def joining(opset: int = 21) -> Graph:
    """x, y -> x, y: two scan outputs, no state."""
    b = GraphBuilder(opset)
    x, y = b.input("x", FLOAT), b.input("y", FLOAT)
    b.output(b.Identity(x), "a", b.tensor(FLOAT, []))
    b.output(b.Identity(y), "b", b.tensor(FLOAT, []))
    return b.graph


ZERO = np.zeros(2, F)
X = np.array([[1, 2], [3, 4], [5, 6]], F)
SUMS = np.array([[1, 2], [4, 6], [9, 12]], F)
BACK = np.array([[5, 6], [8, 10], [9, 12]], F)  # from the last row on
TOTAL = np.array([9, 12], F)
UP = np.arange(3, dtype=F)

BATCHES = np.stack([X, X + 10])
BATCH_SUMS = np.stack([SUMS, np.array([[11, 12], [24, 26], [39, 42]], F)])
SHORT_SUMS = np.stack([SUMS, np.array([[11, 12], [24, 26], [0, 0]], F)])
SHORT_BACK = np.stack([BACK, np.array([[13, 14], [24, 26], [0, 0]], F)])


def attributes(body: Graph, **more: object) -> dict[str, object]:
    return {"body": body, "num_scan_inputs": 1, **more}


CASES = [
    *(
        Case("Scan", v, [ZERO, X], [TOTAL, SUMS], attributes(summing(v)))
        for v in (9, 11, 16, 19, 21, 23, 24, 25)
    ),
    Case("Scan", 9, [ZERO, X], [TOTAL, BACK], attributes(summing(), scan_input_directions=[1]), "backwards"),
    Case(
        "Scan",
        9,
        [ZERO, X],
        [TOTAL, SUMS[::-1]],
        attributes(summing(), scan_output_directions=[1]),
        "prepending",
    ),
    Case("Scan", 9, [ZERO, X.T], [TOTAL, SUMS], attributes(summing(), scan_input_axes=[1]), "columns"),
    Case("Scan", 9, [ZERO, X], [TOTAL, SUMS.T], attributes(summing(), scan_output_axes=[1]), "into columns"),
    Case(
        "Scan",
        11,
        [ZERO, X.T],
        [TOTAL, SUMS.T],
        attributes(summing(), scan_input_axes=[-1], scan_output_axes=[-1]),
        "axes from the back",
    ),
    Case(
        "Scan",
        11,
        [UP, UP],
        [UP, UP[::-1]],
        {"body": joining(), "num_scan_inputs": 2, "scan_input_directions": [0, 1]},
        "two directions, no state",
    ),
    Case("Scan", 11, [ZERO, X[:0]], [ZERO, X[:0]], attributes(summing()), "no slice"),
    Case(
        "Scan",
        8,
        [None, np.stack([ZERO, ZERO]), BATCHES],
        [BATCH_SUMS[:, -1], BATCH_SUMS],
        attributes(summing(8)),
    ),
    Case(
        "Scan",
        8,
        [np.array([3, 2]), np.stack([ZERO, ZERO]), BATCHES],
        [np.array([[9, 12], [24, 26]], F), SHORT_SUMS],
        attributes(summing(8)),
        "a short batch",
    ),
    Case(
        "Scan",
        8,
        [np.array([3, 2]), np.stack([ZERO, ZERO]), BATCHES],
        [np.array([[9, 12], [24, 26]], F), SHORT_BACK],
        attributes(summing(8), directions=[1]),
        "backwards from the end of each batch",
    ),
    Case(
        "Scan",
        8,
        [np.array([0, 3]), np.stack([ZERO, ZERO]), BATCHES],
        [np.array([[0, 0], [39, 42]], F), np.stack([np.zeros((3, 2), F), BATCH_SUMS[1]])],
        attributes(summing(8, shape=None)),
        "a batch of length 0",
    ),
    Case(
        "Scan",
        8,
        [None, np.zeros((0, 2), F), np.zeros((0, 3, 2), F)],
        [np.zeros((0, 2), F), np.zeros((0, 3, 2), F)],
        attributes(summing(8)),
        "no batch",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def run(version: int, body: Graph, *inputs: object, **more: object) -> None:
    b = GraphBuilder(version)
    values = [None if x is None else b.constant(f"x{i}", x) for i, x in enumerate(inputs)]
    given = {name: attribute(name, value) for name, value in {"body": body, **more}.items()}
    node = b.graph.append(Node("Scan", values, [Value("final"), Value("outs")], given))
    b.graph.outputs.extend(node.outputs)
    Interpreter(b.model()).run({})


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"num_scan_inputs": 3}, r"num_scan_inputs must be in \[1, 2\]; got 3"),
        ({"num_scan_inputs": 1, "scan_input_axes": [2]}, "axis 2 lies outside of rank 2"),
        ({"num_scan_inputs": 1, "scan_input_axes": [0, 0]}, "scan_input_axes must have 1 entries; got 2"),
        (
            {"num_scan_inputs": 1, "scan_output_axes": [2]},
            "axis 2 of scan output 'sums' lies outside of rank 2",
        ),
        ({"num_scan_inputs": 1, "scan_output_axes": [0, 0]}, "scan_output_axes must have 1 entries; got 2"),
        ({"num_scan_inputs": 2}, r"the lengths of the scan inputs must be equal; got \[2, 3\]"),
    ],
)
def test_bad_attributes_are_refused(more: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        run(11, summing(), ZERO, X, **more)


def test_many_slices_pass_the_limit() -> None:
    b = GraphBuilder(11)
    node = b.node("Scan", [b.constant("s", ZERO), b.constant("x", X)], 2, body=summing(), num_scan_inputs=1)
    b.graph.outputs.extend(node.outputs)
    with pytest.raises(LimitError, match="the inputs have 3 slices"):
        Interpreter(b.model(), limits=RunLimits(iterations=2)).run({})


def test_a_state_keeps_its_shape() -> None:
    with pytest.raises(
        EvaluationError,
        match=r"a state must keep its shape, \[1\], in every iteration; got \(2,\) in iteration 0",
    ):
        run(11, summing(), np.zeros(1, F), X, num_scan_inputs=1)


@pytest.mark.parametrize("lengths", [[3], [3, 4], [-1, 3]])
def test_version_8_refuses_lengths_that_do_not_fit(lengths: list[int]) -> None:
    with pytest.raises(EvaluationError, match="sequence_lens must be 2 lengths from 0 to 3"):
        run(8, summing(8), lengths, np.stack([ZERO, ZERO]), BATCHES, num_scan_inputs=1)


def test_version_8_wants_a_batch_axis() -> None:
    with pytest.raises(
        EvaluationError, match="states must have a batch axis, scan inputs a batch and a sequence axis"
    ):
        run(8, summing(8), None, np.stack([ZERO, ZERO]), UP, num_scan_inputs=1)


# --- types -----------------------------------------------------------------------------------


def types(
    version: int,
    inputs: list[Type | None],
    expected: list[Type | None],
    results: list[Type | None],
    **more: object,
) -> list[Type | None]:
    """The facet's result for a body that must be inferred for `expected` and returns `results`."""

    def bodies(
        graph: Graph, input_types: Sequence[Type | None], known: Sequence[Known | None]
    ) -> list[Type | None]:
        assert list(input_types) == expected
        return results

    absent = [0] if version == 8 else []
    given = {"body": Graph("body"), "num_scan_inputs": 1, **more}
    return infer_node("Scan", version, inputs, given, outputs=len(results), bodies=bodies, absent=absent)


def test_slices_lose_the_axis_and_outputs_gain_it() -> None:
    inputs: list[Type | None] = [floats("H"), floats("T", "D")]
    output_types = types(9, inputs, [floats("H"), floats("D")], [floats("H"), floats("H", 2)])
    assert output_types == [floats("H"), floats("T", "H", 2)]


def test_axes_say_where() -> None:
    inputs: list[Type | None] = [floats("H"), floats("D", "T")]
    axes = {"scan_input_axes": (-1,), "scan_output_axes": (-1,)}
    output_types = types(11, inputs, [floats("H"), floats("D")], [floats("H"), floats("H", 2)], **axes)
    assert output_types == [floats("H"), floats("H", 2, "T")]


def test_a_state_is_what_it_is_before_and_after() -> None:
    inputs: list[Type | None] = [floats("H", None), floats(4, 1)]
    output_types = types(9, inputs, [floats("H", None), floats(1)], [floats(8, "W"), floats()])
    assert output_types == [floats(8, "W"), floats(4)]


def test_version_8_has_batches() -> None:
    inputs: list[Type | None] = [None, floats("B", "H"), floats("B", "T", "D")]
    output_types = types(8, inputs, [floats("H"), floats("D")], [floats("H"), floats(2)])
    assert output_types == [floats("B", "H"), floats("B", "T", 2)]


def test_an_unknown_body_leaves_the_states() -> None:
    given = {"body": Graph("body"), "num_scan_inputs": 1}
    assert infer_node("Scan", 9, [floats("H"), floats("T", 1)], given, outputs=2) == [floats("H"), None]


def test_contradictions_are_refused() -> None:
    with pytest.raises(InferenceError, match="the shapes of state 0"):
        types(9, [floats(2), floats(4)], [floats(2), floats()], [floats(3)])
    with pytest.raises(
        InferenceError, match=r"state 0 must keep its type, float\[2\], in an iteration; got int64\[2\]"
    ):
        types(9, [floats(2), floats(4)], [floats(2), floats()], [TensorType(DataType.INT64, (2,))])
    with pytest.raises(InferenceError, match="lengths of the scan inputs"):
        types(9, [floats(2), floats(4)], [floats(), floats()], [], num_scan_inputs=2)
    with pytest.raises(InferenceError, match="outside of rank"):
        types(9, [floats(), floats(4)], [], [], scan_input_axes=(1,))

from collections.abc import Sequence

import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError, LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, Graph, Model, Node, OptionalType, SequenceType, TensorType, Type
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.ops.inference import Known

F = np.float32
YES, NO = np.array(True), np.array(False)
INT, FLOAT = DataType.INT64, DataType.FLOAT


def trips(n: int) -> np.ndarray:
    return np.array(n, np.int64)


def summing(opset: int = 21, *, declared: Sequence[int | str] | None = (2,)) -> Graph:
    """total, element -> total + 1, total before: a carried value and a scan output."""
    b = GraphBuilder(opset)
    b.input("i", INT, [])
    condition, total = b.input("c", DataType.BOOL, []), b.input("t", FLOAT)
    after = b.Add(total, b.constant("ones", np.ones(2, F)))
    b.output(b.Identity(condition), "c_out")
    b.output(after, "t_out")
    b.output(b.Identity(total), "seen", None if declared is None else b.tensor(FLOAT, declared))
    return b.graph


def counting_to(limit: int, opset: int = 21, *, counter: Sequence[int] = ()) -> Graph:
    """A body that continues while the iteration number is below `limit`, and collects the numbers."""
    b = GraphBuilder(opset)
    i, _ = b.input("i", INT, counter), b.input("c", DataType.BOOL, [])
    b.output(b.Less(i, b.constant("limit", limit)), "c_out")
    b.output(b.Identity(i), "seen", b.tensor(INT, counter))
    return b.graph


START = np.array([5, 6], F)
THREE = np.array([[5, 6], [6, 7], [7, 8]], F)
NONE_YET = np.zeros((0, 2), F)
VERSIONS = (1, 11, 13, 16, 19, 21, 23, 24, 25)

CASES = [
    *(Case("Loop", v, [trips(3), YES, START], [START + 3, THREE], {"body": summing(v)}) for v in VERSIONS),
    Case("Loop", 11, [trips(3), None, START], [START + 3, THREE], {"body": summing()}, "trip count alone"),
    Case("Loop", 11, [trips(0), YES, START], [START, NONE_YET], {"body": summing()}, "no trip"),
    Case("Loop", 11, [trips(-1), None, START], [START, NONE_YET], {"body": summing()}, "negative trip count"),
    Case("Loop", 11, [trips(3), NO, START], [START, NONE_YET], {"body": summing()}, "false from the start"),
    Case("Loop", 11, [None, NO, START], [START, NONE_YET], {"body": summing()}, "condition alone"),
    Case("Loop", 11, [None, YES], [np.arange(3)], {"body": counting_to(2)}, "until the body stops"),
    Case("Loop", 11, [trips(2), YES], [np.arange(2)], {"body": counting_to(9)}, "whichever comes first"),
    Case("Loop", 11, [trips(4)], [np.arange(4)], {"body": counting_to(0)}, "body's condition ignored"),
    Case(
        "Loop",
        11,
        [np.array([2])],
        [np.array([[0], [1]])],
        {"body": counting_to(0, counter=[1])},
        "numbers of rank 1",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_sequences_are_carried() -> None:
    b = GraphBuilder(13)
    i, c = b.input("i", INT, []), b.input("c", DataType.BOOL, [])
    sequence = b.input("s", FLOAT)
    b.output(b.Identity(c), "c_out")
    b.output(b.SequenceInsert(sequence, i), "s_out")
    expected = [np.array(7), np.array(0), np.array(1)]
    assert_case(Case("Loop", 13, [trips(2), YES, [np.array(7)]], [expected], {"body": b.graph}))


def test_an_empty_optional_is_carried() -> None:
    b = GraphBuilder(16)
    b.input("i", INT, [])
    c, value = b.input("c", DataType.BOOL, []), b.input("o", FLOAT)
    has = b.OptionalHasElement(value)
    b.output(b.Identity(c), "c_out")
    b.output(value)
    b.output(has, "has")
    types = {2: OptionalType(floats(1))}
    assert_case(
        Case("Loop", 16, [trips(1), YES, None], [None, np.array([False])], {"body": b.graph}, types=types)
    )


def test_unused_scan_outputs_are_not_kept() -> None:
    b = GraphBuilder(21)
    node = b.node("Loop", [b.constant("m", 3), None, b.constant("x", START)], ["y", ""], body=summing())
    model = b.model(y=node.outputs[0])
    np.testing.assert_array_equal(Interpreter(model, limits=RunLimits(bytes=16)).run({})["y"], START + 3)


def loop(body: Graph, *inputs: object, outputs: int = 2) -> Model:
    b = GraphBuilder(21)
    values = [None if x is None else b.constant(f"x{i}", x) for i, x in enumerate(inputs)]
    node = b.node("Loop", values, outputs, body=body)
    b.graph.outputs.extend(node.outputs)
    return b.model()


@pytest.mark.parametrize("declared", [None, ["N"], [2], ["N", 3]])
def test_an_empty_result_has_the_sizes_that_an_iteration_would_yield(
    declared: Sequence[int | str] | None,
) -> None:
    seen = Interpreter(loop(summing(declared=declared), 0, None, START)).run({})["loop_1_1"]
    assert isinstance(seen, np.ndarray) and seen.shape == (0, 2) and seen.dtype == F


def test_endless_loops_pass_the_limit() -> None:
    limits = RunLimits(iterations=50)
    with pytest.raises(LimitError, match="the loop exceeds 50 iterations"):
        Interpreter(loop(counting_to(0), outputs=1), limits=limits).run({})


def test_large_scan_outputs_pass_the_limit() -> None:
    with pytest.raises(LimitError, match=r"'seen'.*would take 24 bytes"):
        Interpreter(loop(counting_to(0), 100, outputs=1), limits=RunLimits(bytes=23)).run({})


@pytest.mark.parametrize("condition", [None, YES], ids=["counted", "true"])
@pytest.mark.parametrize("count", [51, 1 << 60, None])
def test_more_iterations_than_the_limit_are_refused_before_the_first(
    count: int | None, condition: Array | None
) -> None:
    called: list[Node] = []
    interpreter = Interpreter(loop(growing(), count, condition, START), limits=RunLimits(iterations=50))
    with pytest.raises(LimitError, match="the loop exceeds 50 iterations"):
        interpreter.run({}, lambda node, results: called.append(node))
    assert not any(node.op_type == "Concat" for node in called)


def test_a_condition_that_the_body_computes_may_end_a_loop_of_any_trip_count() -> None:
    limits = RunLimits(iterations=50)
    (seen,) = Interpreter(loop(counting_to(2), 1 << 60, YES, outputs=1), limits=limits).run({}).values()
    np.testing.assert_array_equal(seen, np.arange(3))


def growing() -> Graph:
    b = GraphBuilder(21)
    b.input("i", INT, [])
    c, x = b.input("c", DataType.BOOL, []), b.input("x", FLOAT)
    b.output(b.Identity(c), "c_out")
    b.output(b.Concat(x, x, axis=0), "x_out")
    b.output(b.Identity(x), "seen")
    return b.graph


def test_elements_of_one_scan_output_have_one_shape() -> None:
    with pytest.raises(EvaluationError, match=r"scan output 'seen' must be float32\[2\] in every iteration"):
        Interpreter(loop(growing(), 2, None, START)).run({})


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ([[1, 2], None, START], 2, r"M must have one element; got array\(\[1, 2\]\)"),
        (
            [1, np.array([True, False]), START],
            2,
            r"cond must have one element; got array\(\[ True, False\]\)",
        ),
        ([1, None, START, START], 2, "subgraph 'main' must be given 3 inputs; got 4"),
        ([1, None, START], 3, "subgraph 'main' must have 4 outputs; got 3"),
    ],
)
def test_bad_calls_are_refused(inputs: list[object], outputs: int, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        Interpreter(loop(summing(), *inputs, outputs=outputs)).run({})


# --- types -----------------------------------------------------------------------------------

CONDITION, COUNT = TensorType(DataType.BOOL, ()), TensorType(INT, ())


def types(
    after: "dict[Type | None, list[Type | None]]",
    carried: Type | None,
    *,
    m: Known | None = None,
    c: Known | None = None,
) -> list[Type | None]:
    """The result of Loop's infer facet if its body maps a carried value of a type to the types that `after` lists."""
    body = summing()

    def bodies(
        graph: Graph, inputs: Sequence[Type | None], known: Sequence[Known | None]
    ) -> list[Type | None]:
        assert inputs[:2] == [COUNT, CONDITION]
        return [CONDITION, *after[inputs[2]]]

    return infer_node(
        "Loop", 21, [COUNT, CONDITION, carried], {"body": body}, outputs=2, known=[m, c], bodies=bodies
    )


GROWS: dict[Type | None, list[Type | None]] = {
    floats("N", 3): [floats("N+1", 3), floats(3)],
    floats(None, 3): [floats(None, 3), floats(3)],
}


def test_a_size_that_changes_is_a_new_one() -> None:
    assert types(GROWS, floats("N", 3)) == [floats("new1", 3), floats("new0", 3)]


def test_without_trips_nothing_changes() -> None:
    assert types(GROWS, floats("N", 3), m=trips(0)) == [floats("N", 3), floats(0, 3)]
    assert types(GROWS, floats("N", 3), c=NO) == [floats("N", 3), floats(0, 3)]


def test_a_known_trip_count_leads_the_scan_outputs() -> None:
    assert types(GROWS, floats("N", 3), m=trips(4), c=YES) == [floats("new0", 3), floats(4, 3)]


def test_a_symbolic_trip_count_leads_the_scan_outputs() -> None:
    m = np.empty((), object)
    m[()] = symbol("T")
    assert types(GROWS, floats("N", 3), m=m, c=YES)[1] == floats("T", 3)


def test_a_condition_that_may_fall_makes_a_new_size() -> None:
    body = counting_to(3)

    def bodies(
        graph: Graph, inputs: Sequence[Type | None], known: Sequence[Known | None]
    ) -> list[Type | None]:
        return [CONDITION, COUNT]

    for given, length in (([COUNT, CONDITION], "new0"), ([COUNT], 4)):
        (type,) = infer_node("Loop", 21, given, {"body": body}, known=[trips(4), YES], bodies=bodies)
        assert type == TensorType(INT, (symbol(length) if isinstance(length, str) else length,))


def test_after_one_trip_the_body_determines_the_type() -> None:
    shrinks: dict[Type | None, list[Type | None]] = {
        floats(0): [floats(5), floats()],
        floats(None): [floats(5), floats()],
    }
    assert types(shrinks, floats(0), m=trips(2), c=YES)[0] == floats(5)
    assert types(shrinks, floats(0))[0] == floats("new1")


def test_an_unknown_body_leaves_the_element_type() -> None:
    types = infer_node("Loop", 21, [COUNT, CONDITION, floats(2)], {"body": summing()}, outputs=2)
    assert types == [TensorType(FLOAT), None]


def test_carried_values_keep_their_element_type() -> None:
    with pytest.raises(
        InferenceError, match=r"carried value 0 must be of one type; got float\[2\] and int64\[2\]"
    ):
        types({floats(2): [TensorType(INT, (2,)), floats()]}, floats(2))


def test_an_optional_may_be_filled() -> None:
    empty, filled = OptionalType(SequenceType(floats(2))), SequenceType(floats(3))
    within = OptionalType(SequenceType(floats(None)))
    body: dict[Type | None, list[Type | None]] = {empty: [filled, floats()], within: [filled, floats()]}
    assert types(body, empty)[0] is None
    assert types(body, empty, m=trips(1), c=YES)[0] == filled
    assert types(body, empty, m=trips(0))[0] == empty


def test_sequences_cannot_be_stacked() -> None:
    with pytest.raises(InferenceError, match=r"a scan output must be a tensor; got seq\(float\[2\]\)"):
        types({floats(2): [floats(2), SequenceType(floats(2))]}, floats(2))

from collections.abc import Sequence

import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Graph, Node, OptionalType, SequenceType, TensorType, Type, Value
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ops.inference import Known

YES, NO = np.array(True), np.array([False])
ONE, TWO = np.array([1, 2], np.float32), np.array([3], np.float32)
BOOL = TensorType(DataType.BOOL, ())


def giving(*values: object) -> Graph:
    """A branch that returns constants."""
    graph = Graph("branch")
    for i, value in enumerate(values):
        graph.outputs.append(GraphBuilder(1, graph=graph).constant(f"c{i}", value))
    return graph


def giving_sequence() -> Graph:
    branch = GraphBuilder(13)
    branch.output(branch.SequenceConstruct(branch.constant("c", ONE)), "s")
    return branch.graph


def giving_nothing() -> Graph:
    branch = GraphBuilder(16)
    branch.output(branch.Optional(type=TensorType(DataType.FLOAT, (2,))), "o")
    return branch.graph


def both_branches(**branches: Graph) -> dict[str, Graph]:
    return {f"{name}_branch": graph for name, graph in branches.items()}


CASES = [
    Case("If", 1, [YES], [ONE], both_branches(then=giving(ONE), **{"else": giving(ONE + 1)})),
    Case(
        "If",
        1,
        [NO],
        [ONE + 1],
        both_branches(then=giving(ONE), **{"else": giving(ONE + 1)}),
        "one element of rank 1",
    ),
    *(
        Case(
            "If",
            version,
            [NO],
            [TWO, ONE],
            both_branches(then=giving(ONE, TWO), **{"else": giving(TWO, ONE)}),
            "two outputs",
        )
        for version in (11, 13, 16, 19, 21, 23, 24, 25)
    ),
    Case(
        "If",
        13,
        [YES],
        [[ONE]],
        both_branches(then=giving_sequence(), **{"else": giving_sequence()}),
        "sequences",
    ),
    Case(
        "If",
        16,
        [YES],
        [None],
        both_branches(then=giving_nothing(), **{"else": giving_nothing()}),
        "an empty optional",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_a_branch_reads_values_around_it() -> None:
    b = GraphBuilder(21)
    condition, x = b.input("c", DataType.BOOL, []), b.input("x", DataType.FLOAT, [2])
    then, other = Graph("then"), Graph("else")
    then.append(Node("Identity", [x], [Value("a")]))
    then.outputs.extend(then.nodes[0].outputs)
    other.outputs.append(x)
    model = b.model(y=b.If(condition, then_branch=then, else_branch=other))
    for c in (True, False):
        np.testing.assert_array_equal(Interpreter(model).run({"c": np.array(c), "x": ONE})["y"], ONE)


def test_only_the_branch_taken_is_run() -> None:
    failing = GraphBuilder(21)
    empty = failing.SequenceEmpty()
    failing.output(failing.SequenceAt(empty, failing.constant("i", 0)), "y")
    assert_case(Case("If", 21, [NO], [ONE], {"then_branch": failing.graph, "else_branch": giving(ONE)}))


@pytest.mark.parametrize(
    ("condition", "branch", "message"),
    [
        (np.array([True, True]), giving(ONE), r"cond must have one element; got shape \[2\]"),
        (YES, giving(), "subgraph 'branch' must have 1 outputs; got 0"),
        (YES, Graph("b", [Value("i")]), "subgraph 'b' must be given 1 inputs; got 0"),
    ],
)
def test_bad_calls_are_refused(condition: np.ndarray, branch: Graph, message: str) -> None:
    b = GraphBuilder(21)
    node = b.node("If", [b.constant("c", condition)], then_branch=branch, else_branch=giving(ONE))
    with pytest.raises(EvaluationError, match=message):
        Interpreter(b.model(y=node.outputs[0])).run({})


# --- types -----------------------------------------------------------------------------------

BRANCHES = {"then_branch": Graph("then"), "else_branch": Graph("else")}


def types(
    version: int, then: Type | None, other: Type | None, known: Sequence[Known | None] = ()
) -> Type | None:
    def bodies(
        graph: Graph, inputs: Sequence[Type | None], known: Sequence[Known | None]
    ) -> list[Type | None]:
        return [then if graph.name == "then" else other]

    (type,) = infer_node("If", version, [BOOL], BRANCHES, known=known, bodies=bodies)
    return type


def test_sizes_in_which_branches_differ_become_new_ones() -> None:
    assert types(11, floats("N", 3, "M"), floats("N", 4, "M")) == floats("N", "new0", "M")


def test_ranks_in_which_branches_differ_are_unknown() -> None:
    assert types(11, floats("N"), floats("N", 1)) == TensorType(DataType.FLOAT)


def test_an_unknown_branch_leaves_the_element_type() -> None:
    assert types(11, floats("N"), None) == TensorType(DataType.FLOAT)


def test_a_known_condition_takes_one_branch() -> None:
    assert types(11, floats(1), floats(2), [NO]) == floats(2)
    assert types(11, floats(1), floats(2), [YES]) == floats(1)


def test_version_1_wants_one_shape() -> None:
    assert types(1, floats("N", None), floats(4, "M")) == floats(4, "M")
    with pytest.raises(InferenceError, match="sizes 1 and 2"):
        types(1, floats(1), floats(2))


def test_sequences_and_optionals_are_joined_inside() -> None:
    joined = floats("N", None)
    assert types(13, SequenceType(floats("N", 2)), SequenceType(floats("N", 3))) == SequenceType(joined)
    assert types(16, OptionalType(floats("N", 2)), OptionalType(floats("N", 3))) == OptionalType(joined)


def test_branches_of_two_kinds_are_refused() -> None:
    for other in (TensorType(DataType.INT64, (1,)), SequenceType(floats(1))):
        with pytest.raises(InferenceError, match="output 0 must be of one type"):
            types(16, floats(1), other)

"""Every pass on every case of the operator matrix: results are unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pytest

from cases import Case, assert_same, model_of
from ops.test_coverage import cases
from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.graph import Model, Node, Value
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.registry import find
from sardonyx._src.rewrite.optimize import optimize
from sardonyx._src.rewrite.pages import page, passes

PARTS = 8
GENERIC = [name for name in passes() if not page(name).versions]
NAMED = [name for name in passes() if page(name).versions]


def twice(case: Case, constants: Iterable[int]) -> tuple[Model, Mapping[str, RuntimeValue]]:
    """A model of the case's node, its duplicate and an Identity after each, with some inputs constant; and feeds."""
    model = model_of(case)
    graph = model.graph
    (node,) = graph.nodes
    outputs = list(graph.outputs)
    feeds = {f"x{i}": v for i, v in enumerate(case.inputs) if v is not None or i in case.types}
    for i in constants:
        data = feeds.get(f"x{i}")
        if isinstance(data, np.ndarray):
            value = next(v for v in graph.inputs if v.name == f"x{i}")
            graph.remove_input(value)
            value.initializer = Tensor.of(feeds.pop(f"x{i}"))
            graph.add_initializer(value)
    twins: list[Value] = []
    if not node.subgraphs:  # which belong to one node
        twins = [Value(f"t{i}") for i in range(len(outputs))]
        graph.append(Node(node.op_type, node.inputs, twins, dict(node.attributes), domain=node.domain))
    for i, value in enumerate((*outputs, *twins)):
        copy = graph.append(Node("Identity", [value], [Value(f"z{i}")]))
        graph.outputs.append(copy.outputs[0])
    return model, feeds


def ways(case: Case) -> Sequence[Sequence[int]]:
    """Sets of inputs to make constant: none, all but the first, all."""
    count = len(case.inputs)
    return [[], range(1, count), range(count)] if count > 1 else [[], range(count)]


def assert_passes_keep_results(case: Case, names: Iterable[str] | None) -> None:
    op = find(case.domain, case.op)
    assert op is not None
    if op.is_random:
        return
    for constants in ways(case):
        model, feeds = twice(case, constants)
        where = f"{case}, constants {list(constants)}, passes {names}"
        try:
            before = Interpreter(model, seed=1).run(feeds)
        except SardonyxError:
            continue
        after = Interpreter(optimize(model, passes=names, debug=True), seed=1).run(feeds)
        assert list(after) == list(before), where
        for name, expected in before.items():
            assert_same(after[name], expected, exact=op.tolerance == "exact", where=f"{where}: {name}")


@pytest.mark.parametrize("part", range(PARTS))
def test_all_passes_keep_every_case(part: int) -> None:
    for case in cases()[part::PARTS]:
        assert_passes_keep_results(case, None)


@pytest.mark.parametrize("name", GENERIC)
def test_a_generic_pass_keeps_every_case(name: str) -> None:
    for case in cases()[::23]:
        assert_passes_keep_results(case, [name])


@pytest.mark.parametrize("name", NAMED)
def test_a_pass_keeps_the_cases_of_its_operators(name: str) -> None:
    operators = page(name).versions.keys()
    for case in cases():
        if (case.domain, case.op) in operators:
            assert_passes_keep_results(case, [name])

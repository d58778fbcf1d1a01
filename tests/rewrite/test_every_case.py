"""Every pass on every case of the operator matrix: results are unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from cases import Case, assert_same, model_of
from ops.test_coverage import cases
from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Model, Node, Tensor, Value
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.registry import find
from sardonyx._src.rewrite.optimize import optimize
from sardonyx._src.rewrite.pages import page, passes
from sardonyx._src.schema import lookup

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


@dataclass(frozen=True)
class Experiment:
    """A model of a case, with the results of the reference engine before any pass."""

    case: Case
    constants: Sequence[int]
    model: Model
    feeds: Mapping[str, RuntimeValue]
    before: Mapping[str, RuntimeValue]


def experiments(cases: Iterable[Case]) -> Iterator[Experiment]:
    """The experiments with the cases: those with random results, or that the reference engine rejects, are left out."""
    for case in cases:
        op = find(case.domain, case.op)
        assert op is not None
        for constants in [] if op.is_random else ways(case):
            model, feeds = twice(case, constants)
            try:
                before = Interpreter(model, seed=1).run(feeds)
            except SardonyxError:
                continue
            yield Experiment(case, constants, model, feeds, before)


def form_of(case: Case) -> tuple[object, ...]:
    """What passes that look at no operator in particular see of a case: cases of one form take the same path through them.

    These are the operator's version, the names of the attributes, which inputs are given, as tensors or not and empty or
    not, and the number of outputs.
    """
    schema = lookup(case.domain, case.op, case.version)
    inputs = tuple(
        (value is not None, isinstance(value, np.ndarray), isinstance(value, np.ndarray) and not value.size)
        for value in case.inputs
    )
    version = case.version if schema is None else schema.since_version
    return case.domain, case.op, version, tuple(sorted(case.attributes)), inputs, len(case.expected)


@cache
def distinct_cases() -> list[Case]:
    """All cases of the operators that some pass names, and one of each form of the others."""
    named = {operator for name in NAMED for operator in page(name).versions}
    forms: set[tuple[object, ...]] = set()
    result = []
    for case in cases():
        form = form_of(case)
        if (case.domain, case.op) in named or form not in forms:
            result.append(case)
        forms.add(form)
    return result


@cache
def sampled_experiments() -> tuple[Experiment, ...]:
    """Experiments with a part of the cases, which each generic pass repeats."""
    return tuple(experiments(cases()[::23]))


def assert_passes_keep_results(experiment: Experiment, names: Iterable[str] | None) -> None:
    case = experiment.case
    op = find(case.domain, case.op)
    assert op is not None
    where = f"{case}, constants {list(experiment.constants)}, passes {names}"
    optimized = optimize(experiment.model, passes=names, debug=True)
    after = Interpreter(optimized, seed=1).run(experiment.feeds)
    assert list(after) == list(experiment.before), where
    for name, expected in experiment.before.items():
        assert_same(after[name], expected, exact=op.tolerance == "exact", where=f"{where}: {name}")


@pytest.mark.parametrize("part", range(PARTS))
def test_all_passes_keep_every_case(part: int) -> None:
    for experiment in experiments(distinct_cases()[part::PARTS]):
        assert_passes_keep_results(experiment, None)


@pytest.mark.parametrize("name", GENERIC)
def test_a_generic_pass_keeps_every_case(name: str) -> None:
    for experiment in sampled_experiments():
        assert_passes_keep_results(experiment, [name])


@pytest.mark.parametrize("name", NAMED)
def test_a_pass_keeps_the_cases_of_its_operators(name: str) -> None:
    operators = page(name).versions.keys()
    for experiment in experiments(case for case in cases() if (case.domain, case.op) in operators):
        assert_passes_keep_results(experiment, [name])

"""Nodes of constants with several results, of which readers take a part: they are folded, and both engines run them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pytest

import sardonyx as sx
from cases import Case, assert_same, model_of
from ops.test_coverage import cases
from rewrite.test_every_case import form_of
from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Model, Node, Tensor, Value
from sardonyx._src.ops.registry import find
from sardonyx._src.rewrite.optimize import optimize


def of_constants(case: Case, used: Sequence[int]) -> Model | None:
    """The node of a case with constant inputs, and a reader of each used result; None for inputs that are no tensors."""
    model = model_of(case)
    graph = model.graph
    results = list(graph.outputs)
    graph.outputs.clear()
    for value in list(graph.inputs):
        data = case.inputs[int(value.name.removeprefix("x"))]
        if not isinstance(data, np.ndarray):
            return None
        graph.remove_input(value)
        value.initializer = Tensor.of(data)
        graph.add_initializer(value)
    for i in used:
        reader = Node("Identity", [results[i]], [Value(f"z{i}")])
        graph.outputs.append(graph.append(reader).outputs[0])
    return model


def parts(count: int) -> Iterator[Sequence[int]]:
    """The sets of results of which one is used at least, and one is not."""
    for size in range(1, count):
        yield from combinations(range(count), size)


def cases_of(name: str) -> list[Case]:
    """One case of each form of an operator with several results."""
    forms = {form_of(case): case for case in cases() if case.op == name and len(case.expected) > 1}
    return list(forms.values())


NAMES = sorted({case.op for case in cases() if len(case.expected) > 1})


@pytest.mark.parametrize("name", NAMES)
def test_parts_of_the_results_are_used(name: str) -> None:
    for case in cases_of(name):
        operator = find(case.domain, case.op)
        assert operator is not None
        for used in parts(len(case.expected)):
            model = of_constants(case, used)
            if model is None or operator.is_random:
                continue
            try:
                expected = Interpreter(model, seed=1).run({})
            except SardonyxError:
                continue
            where = f"{case}, results {used}"
            for what in (optimize(model, debug=True), model):
                actual = sx.Session(what, engine="native", threads=1).run({})
                assert list(actual) == list(expected), where
                for key, value in expected.items():
                    assert_same(
                        actual[key], value, exact=operator.tolerance == "exact", where=f"{where}: {key}"
                    )

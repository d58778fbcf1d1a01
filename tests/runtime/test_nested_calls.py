"""Functions that call each other twice at each level: work that doubles with the depth is refused before it begins."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import pytest

import sardonyx as sx
from models import load_record, parse_function, parse_record
from sardonyx._src.errors import LimitError
from sardonyx._src.infer.scope import InferenceScope, Walk
from sardonyx._src.infer.state import CallResult
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.interp.program import InterpreterProgram
from sardonyx._src.ir import Function, Model, Node
from sardonyx._src.ir.call_counts import count_calls, count_inlined_nodes
from sardonyx._src.ops.api import RunLimits

X = np.ones(2, np.float32)
IMPORTS = '<domain: "l", opset_import: ["": 21, "l": 1]>'


def doubling(depth: int, body: str = "t = {f}(a)  b = {f}(t)") -> Model:
    """A model that calls function f0 of `depth`, in which each calls the next one as `body` does; the last calls Neg."""
    record = parse_record("g (float[2] x) => (float[2] y) { y = l.f0(x) }", more='"l": 1')
    names = [*(f"l.f{i + 1}" for i in range(depth - 1)), "Neg"]
    record.functions = [
        parse_function(f"{IMPORTS} f{i} (a) => (b) {{ {body.format(f=name)} }}")
        for i, name in enumerate(names)
    ]
    return load_record(record)


def test_nodes_of_calls_are_counted() -> None:
    model = doubling(60)
    first = model.functions["l", "f0", ""]
    assert count_calls(model)[first] == count_inlined_nodes(model)[first] == 2**61 - 2


def test_nodes_of_subgraphs_are_not_certain_to_be_called() -> None:
    branch = "e () => (u) {{ u = {f}(a) }}"
    text = f"k = Constant <value = bool {{{{1}}}}> ()  b = If <then_branch = {branch}, else_branch = {branch}> (k)"
    model = doubling(3, text)
    first = model.functions["l", "f0", ""]
    assert count_calls(model)[first] == 2
    assert count_inlined_nodes(model)[first] == 4 + 2 * (4 + 2 * 4)


@pytest.mark.parametrize("engine", ["auto", "native", "reference"])
def test_calls_beyond_the_limit_of_nodes_are_refused(engine: str) -> None:
    session = sx.Session(doubling(60), engine=engine)  # type: ignore[arg-type]
    with pytest.raises(LimitError, match="at most 1000000000 nodes"):
        session.run({"x": X})


def test_no_node_runs_before_calls_are_refused() -> None:
    called: list[Node] = []
    interpreter = Interpreter(doubling(6), limits=RunLimits(nodes=126))
    with pytest.raises(LimitError, match="at most 126 nodes"):
        interpreter.run({"x": X}, lambda node, results: called.append(node))
    assert not called
    (y,) = Interpreter(doubling(6), limits=RunLimits(nodes=127)).run({"x": X}).values()
    np.testing.assert_array_equal(y, X)


def test_the_body_of_a_function_is_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[str] = []
    prepare = InterpreterProgram.prepare

    def record(program: InterpreterProgram) -> InterpreterProgram:
        prepared.append(program.graph.name)
        return prepare(program)

    monkeypatch.setattr(InterpreterProgram, "prepare", record)
    Interpreter(doubling(10)).run({"x": X})
    assert len(prepared) == 11


def test_the_body_of_a_function_is_walked_once_for_equal_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[Function] = []
    walk_call = InferenceScope.walk_call

    def record(
        scope: InferenceScope, node: Node, function: Function
    ) -> Generator[Walk, None, CallResult | None]:
        walked.append(function)
        return walk_call(scope, node, function)

    monkeypatch.setattr(InferenceScope, "walk_call", record)
    y = sx.infer(doubling(60)).graph.outputs[0]
    assert str(y.type) == "float[2]"
    assert len(walked) == 60


def test_calls_with_other_types_are_walked_again() -> None:
    record = parse_record(
        "g (float[2] x, int64[3] i) => (y, j, z) { y = l.f(x)  j = l.f(i)  z = l.f(x) }", more='"l": 1'
    )
    record.functions = [parse_function(f"{IMPORTS} f (a) => (b) {{ b = Neg(a) }}")]
    types = [str(value.type) for value in sx.infer(load_record(record)).graph.outputs]
    assert types == ["float[2]", "int64[3]", "float[2]"]


def test_sizes_that_each_call_computes_differ() -> None:
    record = parse_record("g (float[2] x, float[2] k) => (y, z) { y = l.f(x)  z = l.f(x) }", more='"l": 1')
    record.functions = [parse_function(f"{IMPORTS} f (a) => (b) {{ b = NonZero(a) }}")]
    y, z = (value.type for value in sx.infer(load_record(record)).graph.outputs)
    assert y != z


@pytest.mark.parametrize(("depth", "nodes"), [(4, 16), (60, 1)])
def test_only_calls_of_moderate_size_are_inlined(depth: int, nodes: int) -> None:
    optimized = sx.optimize(doubling(depth), passes=["inline-functions"])
    assert len(optimized.graph.nodes) == nodes

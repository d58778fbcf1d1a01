"""What is known of elements wherever a node stands, before nodes become others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.convert.place import BeforeNode
from sardonyx._src.infer.findings import Findings
from sardonyx._src.ir.graph import Function, Model, Value
from sardonyx._src.ir.names import Names
from sardonyx._src.ir.walk import graphs, nodes, values
from sardonyx._src.ops.registry import signature


def settle_elements(findings: Findings) -> None:
    """Works out all elements now; in a function, those that do not depend on what a call gives.

    The walk leaves in a function what it found in its last call, which need not hold in the others.
    """
    elements = findings.elements
    for value in list(elements.found):
        elements.get(value)
    for function in findings.model.functions.values():
        elements.forget(inside(function))
    for function in findings.model.functions.values():
        work_out(findings, function)


def inside(function: Function) -> list[Value]:
    return [v for graph in graphs(function.body) for v in values(graph)]


def work_out(findings: Findings, function: Function) -> None:
    """Notes what constants of the function itself tell, by types that hold in all calls."""
    place = BeforeNode(Names([]), findings.elements, function.opset_imports)
    for node in nodes(function.body):
        schema = signature(node.domain, node.op_type, function.opset_imports.get(node.domain, 0))
        if schema is None or findings.function_of(node):
            continue
        types = [v.type for v in node.outputs]
        if not node.subgraphs and not any(a.ref for a in node.attributes.values()) and all(types):
            place.fold(node, schema, types)


@contextmanager
def states_open(model: Model) -> Iterator[None]:
    """While it lasts, tensors that training writes to are inputs as well, so that nothing is concluded from what they hold."""
    bindings = [b for step in model.training for b in (*step.initialization_binding, *step.update_binding)]
    opened = []
    for state, _ in bindings:
        graph = state.owner
        if graph is not None and state.initializer is not None and state not in graph.inputs:
            opened.append((graph, graph.add_input(state)))
    try:
        yield
    finally:
        for graph, state in opened:
            graph.remove_input(state)

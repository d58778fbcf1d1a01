"""Known elements of values (those that follow from constants and sizes), computed before nodes are converted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.convert.insertion import NodeInsertionPoint
from sardonyx._src.infer.state import InferenceState
from sardonyx._src.ir import Function, Model, Value
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import graphs, nodes, values
from sardonyx._src.ops.registry import signature


def resolve_elements(inference_state: InferenceState) -> None:
    """Compute all known elements now, since conversion changes the nodes from which they would be computed later.

    In functions, only elements that are the same in every call are kept; inference has left the elements of the last call.
    """
    elements = inference_state.elements
    for value in list(elements.entries):
        elements.get(value)
    for function in inference_state.model.functions.values():
        elements.forget(values_of(function))
    for function in inference_state.model.functions.values():
        infer_function_elements(inference_state, function)


def values_of(function: Function) -> list[Value]:
    return [v for graph in graphs(function.body) for v in values(graph)]


def infer_function_elements(inference_state: InferenceState, function: Function) -> None:
    """Record the elements that follow from the function's own constants, with types that hold in all calls."""
    insertion = NodeInsertionPoint(FreshNames(), inference_state.elements, function.opset_imports)
    for node in nodes(function.body):
        schema = signature(node.domain, node.op_type, function.opset_imports.get(node.domain, 0))
        if schema is None or inference_state.function_of(node):
            continue
        types = [v.type for v in node.outputs]
        if not node.subgraphs and not any(a.ref for a in node.attributes.values()) and all(types):
            insertion.fold(node, schema, types)


@contextmanager
def training_states_as_inputs(model: Model) -> Iterator[None]:
    """For the duration of the block, make the tensors that training steps write graph inputs, so that they are no constants."""
    bindings = [b for step in model.training for b in (*step.initialization_binding, *step.update_binding)]
    added = []
    for state, _ in bindings:
        graph = state.owner
        if graph is not None and state.initializer is not None and not graph.has_input(state):
            added.append((graph, graph.add_input(state)))
    try:
        yield
    finally:
        for graph, state in added:
            graph.remove_input(state)

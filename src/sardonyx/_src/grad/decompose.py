"""Decomposition: nodes are replaced by others that have gradients, by the decomposition facets of `grad/operators`."""

from __future__ import annotations

from collections.abc import Iterable

from sardonyx._src.convert.insertion import NodeInsertionPoint
from sardonyx._src.grad.registry import find_decomposition
from sardonyx._src.grad.reverse import BackwardNodes
from sardonyx._src.infer.state import InferenceState
from sardonyx._src.ir import Model, Node
from sardonyx._src.ir.inline import transfer_outputs
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ops.backward_step import BackwardStep
from sardonyx._src.ops.bind import schema_of
from sardonyx._src.ops.registry import find


def decompose(model: Model, state: InferenceState, selected: Iterable[Node]) -> bool:
    """Replaces those nodes whose operators have a decomposition for them; returns whether there were any."""
    names = FreshNames.of_graphs([model.graph])
    changed = False
    for node in list(selected):
        changed = decompose_node(model, state, node, names) or changed
    return changed


def decompose_node(model: Model, state: InferenceState, node: Node, names: FreshNames) -> bool:
    """Replaces one node; returns whether its operator has a decomposition for it."""
    if find(node.domain, node.op_type) is None:
        return False
    schema = schema_of(node, model.opset_imports)
    facet = find_decomposition(node.domain, node.op_type, schema.since_version)
    if facet is None:
        return False
    graph = node.graph
    assert graph is not None, f"{node!r} is in no graph"
    backward = BackwardNodes(graph, names, model.opset_imports, state.elements, node)
    inference = NodeInsertionPoint(names, state.elements, model.opset_imports).inference(node, schema)
    results = facet(BackwardStep(node, inference, (), (), backward))
    if results is None:
        return False
    transfer_outputs(node, list(results), graph)
    graph.remove(node)
    return True

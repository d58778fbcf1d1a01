"""inline-functions: replace calls of model-local functions by their bodies.

Before:  g (float[2] x) => (float[2] y) { y = my.f(x) }
         <domain: "my", opset_import: ["": 21]> f (a) => (b) { b = Neg(a) }
After:   g (float[2] x) => (float[2] y) { y = Neg(x) }
Keeps:   functions whose operators resolve to other versions than in the model; calls that would enlarge it too much.
"""

from __future__ import annotations

from sardonyx._src.ir import Function, Node
from sardonyx._src.ir.inline import omitted_outputs
from sardonyx._src.ir.walk import nodes
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.facts import has_attribute_references

MAX_INLINED_NODES = 10_000  # nodes inlined in one model, in total
MAX_NODES_OF_CALL = (
    1 << 17
)  # nodes of one call with all calls inside it; only functions that call others twice at every level exceed it


@rewrite(phase="expand")
def inline_functions(node: Node, edit: Edit) -> bool:
    function = edit.model.functions.get((node.domain, node.op_type, node.overload))
    if function is None or node.graph is None or has_attribute_references(node) or node.device_configurations:
        return False
    if any(value.is_graph_output for value in omitted_outputs(node, function)):
        return False
    size = sum(1 for _ in nodes(function.body))
    if edit.inlined_nodes + size > MAX_INLINED_NODES or not resolves_alike(function, node, edit):
        return False
    if edit.nodes_of_calls.get(function, 0) > MAX_NODES_OF_CALL:
        return False
    edit.inlined_nodes += size
    edit.inline(node, function)
    return True


def resolves_alike(function: Function, call: Node, edit: Edit) -> bool:
    """Whether the operators of a function body are the same under the caller's imports as under the function's own."""
    caller_imports, own_imports = edit.imports_of(call), function.opset_imports
    if any(a.type.name.startswith("GRAPH") for a in call.attributes.values()):
        return False  # operators in a graph that the caller passes already resolve under the caller's imports
    for node in nodes(function.body):
        if (node.domain, node.op_type, node.overload) in edit.model.functions:
            continue
        operator = edit.operator(node.domain, node.op_type, caller_imports.get(node.domain))
        if operator is None or operator != edit.operator(
            node.domain, node.op_type, own_imports.get(node.domain)
        ):
            return False
    return True

"""inline-functions: a call of a model-local function is replaced by the function's body.

Before:  g (float[2] x) => (float[2] y) { y = my.f(x) }
         <domain: "my", opset_import: ["": 21]> f (a) => (b) { b = Neg(a) }
After:   g (float[2] x) => (float[2] y) { y = Neg(x) }
Keeps:   functions that go by other versions of their operators than the model; calls that would make the model too large.
"""

from __future__ import annotations

from sardonyx._src.ir.graph import Function, Node
from sardonyx._src.ir.walk import nodes
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.facts import has_references

MOST = 10_000  # nodes that all calls of one model may add


@rewrite(phase="expand")
def inline_functions(node: Node, edit: Edit) -> bool:
    function = edit.model.functions.get((node.domain, node.op_type, node.overload))
    if function is None or node.graph is None or has_references(node) or node.device_configurations:
        return False
    size = sum(1 for _ in nodes(function.body))
    if edit.inlined + size > MOST or not says_the_same(function, node, edit):
        return False
    edit.inlined += size
    edit.inline(node, function)
    return True


def says_the_same(function: Function, call: Node, edit: Edit) -> bool:
    """Whether the nodes of a body mean the same where the call stands."""
    here, body = edit.imports_of(call), function.opset_imports
    if any(a.type.name.startswith("GRAPH") for a in call.attributes.values()):
        return False  # a graph that is handed in goes by what holds at the call already
    for node in nodes(function.body):
        if (node.domain, node.op_type, node.overload) in edit.model.functions:
            continue
        mine = edit.operator(node.domain, node.op_type, here.get(node.domain))
        if mine is None or mine != edit.operator(node.domain, node.op_type, body.get(node.domain)):
            return False
    return True

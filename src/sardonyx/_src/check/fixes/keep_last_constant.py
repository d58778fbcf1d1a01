"""keep-last-constant: keeps the last of several Constant nodes that define one name, at the position of the first.

Keeps: the meaning of the file in runtimes that read Constant nodes into one table of values by name.
Leaves: names that another node defines, too, since its result and a constant could both be meant.
"""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import FunctionProto, GraphProto, NodeProto
from sardonyx._src.schema import canonical


@fix("SX110")
def keep_last_constant(violation: Violation) -> str:
    graph = violation.record_path.record
    assert isinstance(graph, GraphProto | FunctionProto), "the rule visits graphs and functions"
    nodes, last = graph.node, last_index(violation)
    name = nodes[last].output[0] if is_constant(nodes[last]) else None
    previous = next((i for i in range(last - 1, -1, -1) if name in nodes[i].output), None)
    if name is None or previous is None or not is_constant(nodes[previous]):
        return ""
    nodes[previous] = nodes.pop(last)
    return f"kept the last Constant that defines {name!r}, and dropped node[{previous}]"


def last_index(violation: Violation) -> int:
    """The index of the node that defines a name again."""
    return next(int(step) for holder, step in violation.steps(violation.path) if isinstance(holder, list))


def is_constant(node: NodeProto) -> bool:
    """Whether a node is a Constant with one output."""
    return node.op_type == "Constant" and not canonical(node.domain) and len(node.output) == 1

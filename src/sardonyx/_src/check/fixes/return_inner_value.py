"""return-inner-value: an outer value that a nested graph hands out passes through an Identity in that graph.

Leaves: graphs whose imports have no Identity.
"""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.proto.messages import GraphProto, NodeProto
from sardonyx._src.schema import lookup


@fix("SX115")
def return_inner_value(fault: Fault) -> str:
    graph = fault.the(GraphProto)
    version = fault.body.imports.get("", 0)
    if version < 1 or lookup("", "Identity", version) is None:
        return ""
    output = graph.output[int(fault.at.removeprefix("output[").removesuffix("]"))]
    outer, output.name = output.name, fault.round.fresh(output.name)
    identity = NodeProto(op_type="Identity", input=[outer], output=[output.name])
    graph.node = [*graph.node, identity]
    return f"passed {outer!r} through an Identity, as {output.name!r}"

"""return-inner-value: passes an outer value that a nested graph returns through an Identity in that graph.

Leaves: graphs whose imports have no Identity.
"""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import GraphProto, NodeProto
from sardonyx._src.schema import lookup


@fix("SX115")
def return_inner_value(violation: Violation) -> str:
    graph = violation.visited_record(GraphProto)
    version = violation.body.imports.get("", 0)
    if version < 1 or lookup("", "Identity", version) is None:
        return ""
    output = graph.output[int(violation.path.removeprefix("output[").removesuffix("]"))]
    outer, output.name = output.name, violation.fix_pass.fresh(output.name)
    identity = NodeProto(op_type="Identity", input=[outer], output=[output.name])
    graph.node = [*graph.node, identity]
    return f"passed {outer!r} through an Identity, as {output.name!r}"

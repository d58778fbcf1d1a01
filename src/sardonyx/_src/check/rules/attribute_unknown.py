"""SX211 attribute-unknown: a node has an attribute that its operator does not have.

Clause: IR.md, "Nodes"; Operators.md
Catalogue: NOD-13
Why:    the attribute is misspelt, or belongs to another version of the operator; what it asks for does not happen.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <axes = 0> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <axis = 0> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX211", visits=NodeProto, unless="SX230 SX002", needs="attribute", by_form=True)
def attribute_unknown(node: NodeProto, context: Context) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    for i, one in enumerate(node.attribute):
        if one.name not in schema.attributes:
            near = context.near(one.name, schema.attributes)
            says = f"{node.op_type}-{schema.since_version} has no attribute {brief(one.name)}{near}"
            yield Finding(f"attribute[{i}]", says, "correct the name, or drop the attribute")

"""SX211 attribute-unknown: a node has an attribute that its operator does not declare.

Clause: IR.md, "Nodes"; Operators.md
Catalogue: NOD-13
Why:    the attribute is misspelled, or belongs to another version of the operator; it has no effect.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <axes = 0> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <axis = 0> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX211", visits=NodeProto, suppressed_by="SX230 SX002", needs="attribute", cached_by_fingerprint=True)
def check_attribute_unknown(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    for i, attribute in enumerate(node.attribute):
        if attribute.name not in schema.attributes:
            near = context.near(attribute.name, schema.attributes)
            message = f"{node.op_type}-{schema.since_version} has no attribute {brief(attribute.name)}{near}"
            yield Finding(f"attribute[{i}]", message, "correct the name, or drop the attribute")

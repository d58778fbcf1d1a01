"""SX212 attribute-type-differs: an attribute does not have the type that the operator declares.

Clause: IR.md, "Nodes"; Operators.md
Catalogue: NOD-14
Why:    readers do not look for the value in that field.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <axis = 0.0> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <axis = 0> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.attribute_fields import VALUE_FIELDS, attribute_type_of
from sardonyx._src.check.records.names import attribute_type
from sardonyx._src.proto.messages import NodeProto


@rule(
    "SX212",
    visits=NodeProto,
    suppressed_by="SX231 SX232 SX235",
    needs="attribute",
    cached_by_fingerprint=True,
)
def check_attribute_type_differs(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    for i, attribute in enumerate(node.attribute):
        formal = schema.attributes.get(attribute.name)
        kind = attribute_type_of(attribute)
        if formal is not None and kind in VALUE_FIELDS and attribute_type(kind) != formal.type:
            message = f"{attribute.name} of {node.op_type}-{schema.since_version} must be {formal.type}; got {attribute_type(kind)}"
            yield Finding(f"attribute[{i}]", message, f"write the value as {formal.type}")

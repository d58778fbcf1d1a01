"""SX210 attribute-missing: a node lacks an attribute that its operator requires.

Clause: IR.md, "Nodes"; Operators.md
Catalogue: NOD-12 FUN-18
Why:    the attribute has no default.
Bad:    g (float[2] x) => (float[4] y) { y = Concat (x, x) }
Good:   g (float[2] x) => (float[4] y) { y = Concat <axis = 0> (x, x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto


@rule("SX210", visits=NodeProto, cached_by_fingerprint=True)
def check_attribute_missing(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    names = {attribute.name for attribute in node.attribute} if "attribute" in node.__dict__ else frozenset()
    for attribute in schema.attributes.values():
        if attribute.required and attribute.name not in names:
            message = f"{node.op_type}-{schema.since_version} requires the attribute {attribute.name} ({attribute.type})"
            yield Finding("attribute", message, f"set {attribute.name}")

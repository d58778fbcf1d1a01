"""SX210 attribute-missing: a node lacks an attribute that its operator requires.

Clause: IR.md, "Nodes"; Operators.md
Catalogue: NOD-12 FUN-18
Why:    the attribute has no default.
Bad:    g (float[2] x) => (float[4] y) { y = Concat (x, x) }
Good:   g (float[2] x) => (float[4] y) { y = Concat <axis = 0> (x, x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto


@rule("SX210", visits=NodeProto, by_form=True)
def attribute_missing(node: NodeProto, context: Context) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    given = {one.name for one in node.attribute} if "attribute" in node.__dict__ else frozenset()
    for one in schema.attributes.values():
        if one.required and one.name not in given:
            says = f"{node.op_type}-{schema.since_version} requires the attribute {one.name} ({one.type})"
            yield Finding("attribute", says, f"set {one.name}")

"""SX413 call-attribute-missing: a call leaves out an attribute that an operator in the function requires.

Clause: IR.md, "Functions"; Operators.md
Catalogue: FUN-18
Why:    without a value and a default the operator goes without the attribute.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[4] y) { y = com.example.F (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) { w = Concat <axis: int = @a> (v, v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[4] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a> (v) => (w) { w = Concat <axis: int = @a> (v, v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx.check.api import Finding, rule
from sardonyx.check.bodies import imports_of
from sardonyx.check.context import Context
from sardonyx.proto.messages import NodeProto
from sardonyx.proto.record import brief
from sardonyx.schema import canonical, lookup


@rule("SX413", visits=NodeProto, since=8)
def call_attribute_missing(node: NodeProto, context: Context) -> Iterator[Finding]:
    callee = context.body.callee(node) if context.body is not None else None
    if callee is None or not callee.attribute:
        return
    given = {one.name for one in node.attribute}
    imports = imports_of(callee.opset_import)
    missing = set(callee.attribute) - given
    for inner in callee.node if missing else ():
        schema = lookup(inner.domain, inner.op_type, imports.get(canonical(inner.domain), 0))
        for one in inner.attribute:
            formal = schema.attributes.get(one.name) if schema is not None else None
            if formal is not None and formal.required and one.ref_attr_name in missing:
                missing.discard(one.ref_attr_name)
                says = f"{brief(one.ref_attr_name)} is left out; {inner.op_type} in the function requires it"
                yield Finding("attribute", says, f"pass {one.ref_attr_name}")

"""SX212 attribute-type-differs: an attribute has another type than the operator gives it.

Clause: IR.md, "Nodes"; Operators.md
Catalogue: NOD-14
Why:    the value stands in a field where readers do not look for it.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <axis = 0.0> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <axis = 0> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.names import attribute_type
from sardonyx._src.check.value_fields import FIELDS, kind_of
from sardonyx._src.proto.messages import NodeProto


@rule("SX212", visits=NodeProto, unless="SX231 SX232 SX235", needs="attribute", by_form=True)
def attribute_type_differs(node: NodeProto, context: Context) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    for i, one in enumerate(node.attribute):
        formal = schema.attributes.get(one.name)
        kind = kind_of(one)
        if formal is not None and kind in FIELDS and attribute_type(kind) != formal.type:
            says = f"{one.name} is {attribute_type(kind)}; {node.op_type}-{schema.since_version} wants {formal.type}"
            yield Finding(f"attribute[{i}]", says, f"write the value as {formal.type}")

"""SX213 attribute-named-like-value: an attribute has the name of an input or output of its node.

Clause: IR.md, "Attributes", name
Catalogue: NOD-15
Why:    the names of a node's attributes, inputs and outputs should be distinct.
Bad:    g (float[2] axis) => (float[2] y) { y = Softmax <axis = 0> (axis) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <axis = 0> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX213", "warning", visits=NodeProto, needs="attribute", cached_by_fingerprint=True, group="strict")
def check_attribute_named_like_value(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    values = {*node.input, *node.output}
    for i, attribute in enumerate(node.attribute):
        if attribute.name and attribute.name in values:
            message = f"{brief(attribute.name)} is also the name of an input or output of the node"
            yield Finding(f"attribute[{i}].name", message, "rename the value")

"""SX213 attribute-named-like-value: an attribute has the name of an input or output of its node.

Clause: IR.md, "Attributes", name
Catalogue: NOD-15
Why:    the names of a node's attributes, inputs and outputs are meant to be distinct.
Bad:    g (float[2] axis) => (float[2] y) { y = Softmax <axis = 0> (axis) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <axis = 0> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX213", "warning", visits=NodeProto, needs="attribute", by_form=True)
def attribute_named_like_value(node: NodeProto, context: Context) -> Iterator[Finding]:
    values = {*node.input, *node.output}
    for i, one in enumerate(node.attribute):
        if one.name and one.name in values:
            says = f"{brief(one.name)} is the name of a value that the node takes or makes, too"
            yield Finding(f"attribute[{i}].name", says, "rename the value")

"""SX235 attribute-twice: a node has two attributes of the same name.

Clause: IR.md, "Attributes"; "Names Within a Graph"
Catalogue: ATT-06
Why:    readers may use either.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <axis = 0, axis = -1> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <axis = 0> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto


@rule("SX235", visits=NodeProto, needs="attribute", cached_by_fingerprint=True)
def check_attribute_twice(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, attribute in enumerate(node.attribute):
        if attribute.name and first.setdefault(attribute.name, i) != i:
            yield Finding(
                f"attribute[{i}].name",
                f"attribute[{first[attribute.name]}] also has this name",
                "keep one of them",
            )

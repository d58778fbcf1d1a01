"""SX235 attribute-twice: a node has two attributes of one name.

Clause: IR.md, "Attributes"; "Names Within a Graph"
Catalogue: ATT-06
Why:    readers may take either.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <axis = 0, axis = -1> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <axis = 0> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto


@rule("SX235", visits=NodeProto, needs="attribute", by_form=True)
def attribute_twice(node: NodeProto, context: Context) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, one in enumerate(node.attribute):
        if one.name and first.setdefault(one.name, i) != i:
            yield Finding(
                f"attribute[{i}].name", f"attribute[{first[one.name]}] has this name, too", "keep one of them"
            )

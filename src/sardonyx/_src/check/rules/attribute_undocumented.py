"""SX921 attribute-undocumented: attributes of a node have no documentation.

Clause: IR.md, "Attributes", doc_string
Catalogue: STY-02
Why:    the specification wants a word on each, which few writers leave.  Reported where `style` is selected.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", type: INT, i: 0}> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", type: INT, i: 0, doc_string: "The only axis."}> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX921", "info", visits=NodeProto, needs="attribute", by_request=True)
def attribute_undocumented(node: NodeProto, context: Context) -> Iterator[Finding]:
    """Once for each node."""
    bare = [i for i, one in enumerate(node.attribute) if not one.doc_string]
    if bare:
        names = ", ".join(brief(node.attribute[i].name) for i in bare[:8])
        yield Finding(
            f"attribute[{bare[0]}].doc_string", f"no doc_string: {names}", "say why they are what they are"
        )

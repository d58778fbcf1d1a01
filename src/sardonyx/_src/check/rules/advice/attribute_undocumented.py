"""SX921 attribute-undocumented: attributes of a node have no documentation.

Clause: IR.md, "Attributes", doc_string
Catalogue: STY-02
Why:    the specification recommends a doc_string, which few writers provide.
Bad:    g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", type: INT, i: 0}> (x) }
Good:   g (float[2] x) => (float[2] y) { y = Softmax <{name: "axis", type: INT, i: 0, doc_string: "The only axis."}> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import brief


@rule("SX921", "info", visits=NodeProto, needs="attribute", group="style")
def check_attribute_undocumented(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per node."""
    bare = [i for i, attribute in enumerate(node.attribute) if not attribute.doc_string]
    if bare:
        names = ", ".join(brief(node.attribute[i].name) for i in bare[:8])
        yield Finding(
            f"attribute[{bare[0]}].doc_string",
            f"no doc_string: {names}",
            "document the reason for their values",
        )

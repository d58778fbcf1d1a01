"""SX223 pads-beside-auto-pad: a node has both pads and an auto_pad that determines them.

Clause: Operators.md, Conv, ConvTranspose and the pooling operators: "pads" cannot be used together with "auto_pad"
Catalogue: -
Why:    the two may disagree.  Runtimes use auto_pad, and some refuse the node.  Pads of zero are allowed, since exporters
        write them.
Bad:    g (float[1, 1, 4] x, float[1, 1, 3] w) => (float[1, 1, 4] y) { y = Conv <auto_pad = "SAME_UPPER", pads = [1, 1]> (x, w) }
Good:   g (float[1, 1, 4] x, float[1, 1, 3] w) => (float[1, 1, 4] y) { y = Conv <auto_pad = "SAME_UPPER"> (x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto

NO_AUTO_PAD = (b"", b"NOTSET")


@rule(
    "SX223",
    "warning",
    visits=NodeProto,
    needs="attribute",
    suppressed_by="SX211 SX212 SX221 SX231 SX232",
    cached_by_fingerprint=True,
)
def check_pads_beside_auto_pad(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    if context.schema is None or "auto_pad" not in context.schema.attributes:
        return
    index = {attribute.name: i for i, attribute in enumerate(node.attribute)}
    if "pads" not in index or "auto_pad" not in index:
        return
    mode, pads = bytes(node.attribute[index["auto_pad"]].s), node.attribute[index["pads"]].ints
    if mode not in NO_AUTO_PAD and any(pads):
        message = f"auto_pad is {mode.decode('utf-8', 'replace')}, and pads are {list(pads)[:16]}"
        yield Finding(f"attribute[{index['pads']}]", message, "keep one of the two")

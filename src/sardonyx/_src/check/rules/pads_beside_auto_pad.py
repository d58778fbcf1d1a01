"""SX223 pads-beside-auto-pad: a node gives pads as well as an auto_pad that works them out.

Clause: Operators.md, Conv, ConvTranspose and the pooling operators: "pads" cannot be used together with "auto_pad"
Catalogue: -
Why:    the two say different things.  Runtimes go by auto_pad, and some refuse the node.  Zeros say nothing, and exporters
        write them.
Bad:    g (float[1, 1, 4] x, float[1, 1, 3] w) => (float[1, 1, 4] y) { y = Conv <auto_pad = "SAME_UPPER", pads = [1, 1]> (x, w) }
Good:   g (float[1, 1, 4] x, float[1, 1, 3] w) => (float[1, 1, 4] y) { y = Conv <auto_pad = "SAME_UPPER"> (x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto

UNSET = (b"", b"NOTSET")


@rule("SX223", "warning", visits=NodeProto, needs="attribute", unless="SX211 SX212 SX221 SX231 SX232")
def pads_beside_auto_pad(node: NodeProto, context: Context) -> Iterator[Finding]:
    if context.schema is None or "auto_pad" not in context.schema.attributes:
        return
    place = {one.name: i for i, one in enumerate(node.attribute)}
    if "pads" not in place or "auto_pad" not in place:
        return
    word, pads = bytes(node.attribute[place["auto_pad"]].s), node.attribute[place["pads"]].ints
    if word not in UNSET and any(pads):
        says = f"auto_pad is {word.decode('utf-8', 'replace')}, and pads are {list(pads)[:16]}"
        yield Finding(f"attribute[{place['pads']}]", says, "leave one of the two out")

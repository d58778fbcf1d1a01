"""fuse-pad: move zero padding of the spatial axes into the pads of a Conv or AveragePool.

Spec:    Pad-2 -11 -13 -18 -19 -21 -23 -24 -25, Conv-1 -11 -22, AveragePool-7 -10 -11 -19 -22
Before:  g (float[1,1,4] x) => (float[] y) <int64[6] p = {0, 0, 1, 0, 0, 2}, float[1,1,2] w = {1, 2}> {
           a = Pad(x, p)  y = Conv(a, w)
         }
After:   g (float[1,1,4] x) => (float[] y) <float[1,1,2] w = {1, 2}> { y = Conv<pads = [1, 2]>(x, w) }
Keeps:   padding of batch or channels, with other values or modes; a Pad with other uses; results exactly.
"""

from __future__ import annotations

from sardonyx._src.ir import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.padding import padding_of


@rewrite(root=("Conv", "AveragePool"), phase="fuse")
def fuse_pad(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, node.op_type) or not node.inputs or node.inputs[0] is None:
        return False
    pad = edit.producer(node.inputs[0], "Pad")
    if pad is None or not edit.has_one_use(node.inputs[0]):
        return False
    padding, rank = padding_of(pad, edit), edit.rank(node.inputs[0])
    attributes = edit.attributes(node)
    if (
        padding is None
        or padding.number != 0
        or rank is None
        or attributes.get("auto_pad", "NOTSET") != "NOTSET"
    ):
        return False
    begins, ends = padding.counts[:rank], padding.counts[rank:]
    if any(begins[:2]) or any(ends[:2]):
        return False
    own = attributes.get("pads") or (0,) * (2 * (rank - 2))
    assert isinstance(own, tuple), "pads is a list"
    if node.op_type == "AveragePool" and (
        attributes.get("ceil_mode") or (any(own) and not attributes["count_include_pad"])
    ):
        return False
    pads = [a + b for a, b in zip(own, (*begins[2:], *ends[2:]), strict=True)]
    counted = {"count_include_pad": 1} if node.op_type == "AveragePool" else {}
    edit.update(node, inputs=[pad.inputs[0], *node.inputs[1:]], pads=pads, **counted)
    return True

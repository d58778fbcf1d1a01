"""move-casts-to-constants: entries that are picked from a constant and cast are cast beforehand.

Spec:    Cast-6 -9 -13 -19 -21 -23 -24 -25 -28, Gather-1 -11 -13, OneHot-9 -11 -28
Before:  g (int64[2] i) => (float[] y) <int64[3] w = {4, 5, 6}> { a = Gather(w, i)  y = Cast<to = 1>(a) }
After:   g (int64[2] i) => (float[] y) <int64[3] w = {4, 5, 6}> { a = Cast<to = 1>(w)  y = Gather(a, i) }
Keeps:   entries read elsewhere; constants that would become larger; every bit.
"""

from __future__ import annotations

from sardonyx._src.ir.graph import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit

DATA = {"Gather": 0, "OneHot": 2}  # the input that is picked from
SMALL = 256  # bytes: what may grow


@rewrite(root="Cast", phase="simplify")
def move_casts_to_constants(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "Cast") or not node.inputs or node.inputs[0] is None:
        return False
    picker = node.inputs[0].producer
    if picker is None or picker.op_type not in DATA or not edit.is_a(picker, picker.op_type):
        return False
    slot = DATA[picker.op_type]
    data = picker.inputs[slot] if slot < len(picker.inputs) else None
    tensor, wanted = edit.tensor(data), edit.type(node.outputs[0])
    if tensor is None or wanted is None or data is None or not edit.is_read_once(node.inputs[0]):
        return False
    if wanted.dtype.bits > tensor.dtype.bits and wanted.dtype.bits * tensor.size > 8 * SMALL:
        return False
    attributes = dict(node.attributes)
    cast = edit.make("Cast", [data], attributes, before=picker)
    inputs = list(picker.inputs)
    inputs[slot] = cast.outputs[0]
    return edit.replace(node, picker.op_type, inputs, dict(picker.attributes))

"""move-casts-to-constants: cast a constant before Gather or OneHot selects from it, instead of the result.

Spec:    Cast-6 -9 -13 -19 -21 -23 -24 -25 -28, Gather-1 -11 -13, OneHot-9 -11 -28
Before:  g (int64[2] i) => (float[] y) <int64[3] w = {4, 5, 6}> { a = Gather(w, i)  y = Cast<to = 1>(a) }
After:   g (int64[2] i) => (float[] y) <int64[3] w = {4, 5, 6}> { a = Cast<to = 1>(w)  y = Gather(a, i) }
Keeps:   selected entries with other uses; constants that would become larger; results exactly.
"""

from __future__ import annotations

from sardonyx._src.ir import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit

DATA_INPUTS = {"Gather": 0, "OneHot": 2}  # the input that the operator selects from
MAX_GROWING_BYTES = 256  # bytes of a constant that is cast although that enlarges it


@rewrite(root="Cast", phase="simplify")
def move_casts_to_constants(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "Cast") or not node.inputs or node.inputs[0] is None:
        return False
    selector = node.inputs[0].producer
    if selector is None or selector.op_type not in DATA_INPUTS or not edit.is_a(selector, selector.op_type):
        return False
    slot = DATA_INPUTS[selector.op_type]
    data = selector.inputs[slot] if slot < len(selector.inputs) else None
    tensor, result_type = edit.tensor(data), edit.type(node.outputs[0])
    if tensor is None or result_type is None or data is None or not edit.has_one_use(node.inputs[0]):
        return False
    if (
        result_type.dtype.bits > tensor.dtype.bits
        and result_type.dtype.bits * tensor.size > 8 * MAX_GROWING_BYTES
    ):
        return False
    attributes = dict(node.attributes)
    cast = edit.make("Cast", [data], attributes, before=selector)
    inputs = list(selector.inputs)
    inputs[slot] = cast.outputs[0]
    return edit.replace(node, selector.op_type, inputs, dict(selector.attributes))

"""LpPool with p >= 3, for ranks whose kernel has no such norms: the p-th root of an L1 pooling of powers."""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.edit import Edit

WINDOW = ("kernel_shape", "strides", "pads", "dilations", "auto_pad", "ceil_mode")
IMAGE_RANKS = (3, 4)  # the kernel for these ranks has all norms


def decompose(node: Node, edit: Edit) -> bool:
    rank, x = edit.rank(node.inputs[0]), edit.type(node.inputs[0])
    if edit.operator_of(node) is None or rank is None or rank in IMAGE_RANKS or x is None:
        return False
    attributes = edit.attributes(node)
    p = attributes["p"]
    if x.dtype is not DataType.FLOAT or not isinstance(p, int) or p < 3:
        return False
    exponents = (
        edit.make_constant(x.dtype.numpy.type(e).reshape(()), f"{node.name}/p", before=node)
        for e in (p, 1 / p)
    )
    power, root = exponents
    magnitudes = edit.make("Abs", [node.inputs[0]], before=node).outputs[0]
    powers = edit.make("Pow", [magnitudes, power], before=node).outputs[0]
    window = {name: attributes[name] for name in WINDOW if attributes.get(name) is not None}
    sums = edit.make("LpPool", [powers], {**window, "p": 1}, before=node).outputs[0]
    edit.transfer_outputs(node, [edit.make("Pow", [sums, root], before=node).outputs[0]])
    return True

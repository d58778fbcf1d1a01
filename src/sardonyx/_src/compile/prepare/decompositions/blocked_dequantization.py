"""DequantizeLinear of computed integers with scales for blocks: as an elementwise product with the blocks as a dim of their own."""

from __future__ import annotations

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Node
from sardonyx._src.rewrite.engine.edit import Edit

DTYPES = frozenset({DataType.UINT8, DataType.INT8, DataType.UINT16, DataType.INT16})
BLOCKS = """(x, scale, zero) => (y) {{
  split = Constant <value = int64[{split_rank}] {{{split}}}> ()  whole = Constant <value = int64[{rank}] {{{whole}}}> ()
  after = Constant <value = int64[1] {{{after}}}> ()  blocks = Reshape(x, split)  wide = Cast <to = 1> (blocks)
  scales = Unsqueeze(scale, after)  {centred}  weights = Mul(centred, scales)  y = Reshape(weights, whole) }}"""
SHIFTED = "wide_zero = Cast <to = 1> (zero)  zeros = Unsqueeze(wide_zero, after)  centred = Sub(wide, zeros)"


def decompose(node: Node, edit: Edit) -> bool:
    """Only for whole blocks of a known size, and with at most one open dim."""
    if edit.operator_of(node) is None or edit.tensor(node.inputs[0]) is not None:
        return False
    attributes = edit.attributes(node)
    size, axis = attributes.get("block_size"), attributes["axis"]
    x, scale, result = edit.type(node.inputs[0]), edit.type(node.inputs[1]), edit.type(node.outputs[0])
    if not isinstance(size, int) or not isinstance(axis, int) or size < 1 or x is None or scale is None:
        return False
    if x.dtype not in DTYPES or scale.dtype is not DataType.FLOAT or result is None or x.shape is None:
        return False
    rank = len(x.shape)
    length = x.shape[axis] if -rank <= axis < rank else None
    if result.dtype is not DataType.FLOAT or not isinstance(length, int) or length == 0 or length % size:
        return False
    axis %= rank
    sizes = [dim if isinstance(dim, int) and dim > 0 else -1 for dim in x.shape]
    if sizes.count(-1) > 1:
        return False
    split = [*sizes[:axis], length // size, size, *sizes[axis + 1 :]]
    has_zero = len(node.inputs) > 2 and node.inputs[2] is not None
    text = BLOCKS.format(
        split_rank=rank + 1,
        split=", ".join(map(str, split)),
        rank=rank,
        whole=", ".join(map(str, sizes)),
        after=axis + 1,
        centred=SHIFTED if has_zero else "centred = Identity(wide)",
    )
    inline_text(node, edit, text)
    return True

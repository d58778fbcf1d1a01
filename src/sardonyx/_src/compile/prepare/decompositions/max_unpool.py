"""MaxUnpool as a scatter into zeros; an index that is not in the result stays an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import known_equal
from sardonyx._src.ir.graph import Node
from sardonyx._src.ops.nn.windows import values_per_axis
from sardonyx._src.rewrite.engine.edit import Edit

TYPES = (DataType.FLOAT, DataType.DOUBLE)
UNPOOL = """(x, i) => (y) {{
  sizes = Shape(x)  lead = Shape <end = 2> (x)  spatial = Shape <start = 2> (x)
  one = Constant <value = int64[1] {{1}}> ()  steps = Constant <value = int64[{rank}] {{{strides}}}> ()
  rest = Constant <value = int64[{rank}] {{{rest}}}> ()
  gaps = Sub(spatial, one)  reach = Mul(gaps, steps)  out_spatial = Add(reach, rest)
  out_sizes = Concat <axis = 0> (lead, out_spatial)  total = ReduceProd <keepdims = 1> (out_sizes)
  zeros = ConstantOfShape <value = {dtype}[1] {{0}}> (total)  count = ReduceProd <keepdims = 1> (sizes)
  values = Reshape <allowzero = 1> (x, count)  places = Reshape <allowzero = 1> (i, count)
  zero = Constant <value = int64 {{0}}> ()  none = Constant <value = int64 {{9223372036854775807}}> ()
  is_negative = Less(places, zero)  checked = Where(is_negative, none, places)
  filled = ScatterElements <axis = 0> (zeros, checked, values)  y = Reshape <allowzero = 1> (filled, out_sizes) }}"""


def decompose(node: Node, edit: Edit) -> bool:
    x, indices = edit.type(node.inputs[0]), edit.type(node.inputs[1])
    if edit.operator_of(node) is None or x is None or indices is None or x.dtype not in TYPES:
        return False
    if any(value is not None for value in node.inputs[2:]) or x.shape is None or indices.shape is None:
        return False
    kernel, strides, pads = (integers(node, edit, name) for name in ("kernel_shape", "strides", "pads"))
    if kernel is None or len(x.shape) != len(kernel) + 2 or len(indices.shape) != len(x.shape):
        return False
    if not all(
        a is not None and b is not None and known_equal(a, b) is True
        for a, b in zip(x.shape, indices.shape, strict=True)
    ):
        return False
    rank = len(kernel)
    try:
        steps = values_per_axis("strides", strides, rank, minimum=1)
        margins = values_per_axis("pads", pads, 2 * rank, minimum=0)
    except EvaluationError:
        return False  # the reference kernel raises the error
    rest = [k - margins[axis] - margins[rank + axis] for axis, k in enumerate(kernel)]
    if min(rest, default=0) < 0:
        return False
    text = UNPOOL.format(
        rank=rank, strides=", ".join(map(str, steps)), rest=", ".join(map(str, rest)), dtype=x.dtype.text
    )
    inline_text(node, edit, text)
    return True


def integers(node: Node, edit: Edit, name: str) -> Sequence[int] | None:
    """An attribute that is a list of integers; None if it is omitted."""
    value = edit.attributes(node).get(name)
    return None if value is None else [int(number) for number in cast("Sequence[int]", value)]

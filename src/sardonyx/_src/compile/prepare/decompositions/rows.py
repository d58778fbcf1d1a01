"""Hardmax, and LpNormalization along other axes than the last, as reductions and elementwise operators; float32 only."""

from __future__ import annotations

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.edit import Edit

NORMALIZATION = """(x) => (y) {{
  axis = Constant <value = int64[1] {{{axis}}}> ()  zero = Constant <value = float {{0}}> ()
  one = Constant <value = float {{1}}> ()  largest = Constant <value = float {{3.4028234e38}}> ()
  magnitude = Abs(x)  top = ReduceMax(magnitude, axis)
  is_positive = Greater(top, zero)  is_finite = LessOrEqual(top, largest)  is_scale = And(is_positive, is_finite)
  scale = Where(is_scale, top, one)  scaled = Div(x, scale)  norm = {reduction}(scaled, axis)
  is_zero = Equal(norm, zero)  divisor = Where(is_zero, one, norm)  y = Div(scaled, divisor) }}"""
HARDMAX = """(x) => (y) {{
  first = ArgMax <axis = {axis}, keepdims = 0> (x)  depth_vector = Shape <start = {axis}, end = {end}> (x)
  values = Constant <value = float[2] {{0, 1}}> ()  y = OneHot <axis = {axis}> (first, depth_vector, values) }}"""


def decompose(node: Node, edit: Edit) -> bool:
    type = edit.type(node.inputs[0])
    if (
        edit.operator_of(node) is None
        or type is None
        or type.dtype is not DataType.FLOAT
        or type.shape is None
    ):
        return False
    attributes = edit.attributes(node)
    axis, rank = attributes["axis"], len(type.shape)
    if not isinstance(axis, int) or not -rank <= axis < rank or type.shape[axis] in (None, 0):
        return False
    axis %= rank
    if node.op_type == "Hardmax":
        if not isinstance(type.shape[axis], int):  # a depth that is computed has no kernel
            return False
        inline_text(node, edit, HARDMAX.format(axis=axis, end=axis + 1))
        return True
    if axis == rank - 1:  # contiguous rows have a kernel
        return False
    reduction = "ReduceL1" if attributes["p"] == 1 else "ReduceL2"
    inline_text(node, edit, NORMALIZATION.format(axis=axis, reduction=reduction))
    return True

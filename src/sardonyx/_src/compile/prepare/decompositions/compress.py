"""Compress as a Gather of the entries that the condition selects, whose indices NonZero returns."""

from __future__ import annotations

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.edit import Edit

FLAT = """(x, condition) => (y) {
  flat = Constant <value = int64[1] {-1}> ()  row = NonZero(condition)  numbers = Reshape(row, flat)
  elements = Reshape(x, flat)  y = Gather(elements, numbers) }"""
ENTRIES = """(x, condition) => (y) {{
  flat = Constant <value = int64[1] {{-1}}> ()  row = NonZero(condition)  numbers = Reshape(row, flat)
  y = Gather <axis = {axis}> (x, numbers) }}"""


def decompose(node: Node, edit: Edit) -> bool:
    x, rank = edit.type(node.inputs[0]), edit.rank(node.inputs[0])
    if edit.operator_of(node) is None or x is None or x.dtype is DataType.STRING:
        return False
    if rank is None or edit.rank(node.inputs[1]) != 1:
        return False
    axis = edit.attributes(node).get("axis")
    if axis is None:
        inline_text(node, edit, FLAT)
        return True
    if not isinstance(axis, int) or not -rank <= axis < rank:
        return False
    inline_text(node, edit, ENTRIES.format(axis=axis))
    return True

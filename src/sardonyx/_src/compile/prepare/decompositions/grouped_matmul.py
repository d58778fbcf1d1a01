"""GroupedMatMul with a bias as a GroupedMatMul without one, plus the selected rows of the bias."""

from __future__ import annotations

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.edit import Edit

SUM = """(x, weights, indices, bias) => (y) {
  product = GroupedMatMul(x, weights, indices)  own = Gather <axis = 0> (bias, indices)  y = Add(product, own) }"""


def decompose(node: Node, edit: Edit) -> bool:
    if edit.operator_of(node) is None or len(node.inputs) < 4 or node.inputs[3] is None:
        return False
    inline_text(node, edit, SUM)
    return True

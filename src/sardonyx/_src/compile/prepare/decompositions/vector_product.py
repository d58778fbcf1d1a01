"""MatMul with one or two vectors, as a product of matrices with one row or one column."""

from __future__ import annotations

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.edit import Edit

ROW_BY_MATRIX = """(a, b) => (y) {
  axis = Constant <value = int64[1] {-2}> ()  row = Unsqueeze(a, axis)  product = MatMul(row, b)  y = Squeeze(product, axis) }"""
MATRIX_BY_COLUMN = """(a, b) => (y) {
  axis = Constant <value = int64[1] {-1}> ()  column = Unsqueeze(b, axis)  product = MatMul(a, column)
  y = Squeeze(product, axis) }"""
ROW_BY_COLUMN = """(a, b) => (y) {
  first = Constant <value = int64[1] {0}> ()  last = Constant <value = int64[1] {1}> ()  none = Constant <value = int64[0] {}> ()
  row = Unsqueeze(a, first)  column = Unsqueeze(b, last)  product = MatMul(row, column)  y = Reshape(product, none) }"""


def decompose(node: Node, edit: Edit) -> bool:
    ranks = [edit.rank(value) for value in node.inputs]
    if edit.operator_of(node) is None or None in ranks or 1 not in ranks or 0 in ranks:
        return False
    left, right = ranks
    text = ROW_BY_COLUMN if left == right else ROW_BY_MATRIX if left == 1 else MATRIX_BY_COLUMN
    inline_text(node, edit, text)
    return True

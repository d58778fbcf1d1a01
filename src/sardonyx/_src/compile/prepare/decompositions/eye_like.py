"""EyeLike as the comparison of column numbers with row numbers."""

from __future__ import annotations

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.edit import Edit

FARTHEST = 1 << 60  # the diagonal is clamped to this: it is outside of every matrix, and sums do not overflow
EYE = """(x) => (y) {{
  zero = Constant <value = int64 {{0}}> ()  one = Constant <value = int64 {{1}}> ()  none = Constant <value = int64[0] {{}}> ()
  last = Constant <value = int64[1] {{1}}> ()  diagonal = Constant <value = int64 {{{k}}}> ()
  height = Shape <end = 1> (x)  rows = Reshape(height, none)  width = Shape <start = 1> (x)  columns = Reshape(width, none)
  down = Range(zero, rows, one)  across = Range(zero, columns, one)  column = Unsqueeze(down, last)
  place = Add(column, diagonal)  is_one = Equal(across, place)  y = Cast <to = {to}> (is_one) }}"""


def decompose(node: Node, edit: Edit) -> bool:
    result = edit.type(node.outputs[0])
    if edit.operator_of(node) is None or result is None or edit.rank(node.inputs[0]) != 2:
        return False
    if node.outputs[0] in edit.model.graph.outputs:  # the kernel of EyeLike writes it faster
        return False
    k = edit.attributes(node)["k"]
    assert isinstance(k, int), "the signature has a default"
    inline_text(node, edit, EYE.format(k=max(min(k, FARTHEST), -FARTHEST), to=result.dtype.value))
    return True

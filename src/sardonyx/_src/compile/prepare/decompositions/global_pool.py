"""Global pooling over three or more dims as a reduction of rows."""

from __future__ import annotations

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.ir import Node
from sardonyx._src.ops.support.body_text import vector
from sardonyx._src.rewrite.engine.edit import Edit

REDUCTIONS = {"GlobalAveragePool": "ReduceMean", "GlobalMaxPool": "ReduceMax"}


def decompose(node: Node, edit: Edit) -> bool:
    rank = edit.rank(node.inputs[0])
    if edit.operator_of(node) is None or rank is None or rank < 5:
        return False
    axes = vector(list(range(2, rank)))
    inline_text(
        node,
        edit,
        f"(x) => (y) {{ axes = {axes}  y = {REDUCTIONS[node.op_type]} <keepdims = 1> (x, axes)  }}",
    )
    return True

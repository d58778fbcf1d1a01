"""Decompositions that are written as the text of a function."""

from __future__ import annotations

from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.schema import newest


def inline_text(node: Node, edit: Edit, text: str) -> None:
    """Replaces a node by a function of its inputs, `(x, w) => (y) { ... }`, whose operators are of the newest version."""
    from sardonyx._src.ops.function_bodies import parse_body  # lazy: texts are parsed for few models

    operator = edit.operator_of(node)
    assert operator is not None, f"{node!r} has no operator"
    function = parse_body(node.domain, node.op_type, operator.version, newest(""), text)
    edit.inline(node, function)

"""Canonical text of an expression DAG, linear in its size: shared subexpressions are printed once.

Equal text means the same computation, so the text is part of the cache keys of kernels.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen.expressions import (
    Apply,
    Cast,
    Local,
    Number,
    Scalar,
    Select,
    topological_order,
)


def canonical_text(values: Sequence[Scalar]) -> str:
    """Expressions as numbered assignments in evaluation order, then the results: `0=add(i0,1.0n);1=exp(0);1`."""
    names: dict[int, str] = {}
    lines: list[str] = []
    for value in values:
        for node in reversed(list(topological_order(value))):
            if id(node) not in names:
                text = operation_text(node, names)
                names[id(node)] = text if isinstance(node, Local | Number) else str(len(lines))
                if not isinstance(node, Local | Number):
                    lines.append(f"{len(lines)}={text}")
    return ";".join([*lines, ",".join(names[id(value)] for value in values)])


def operation_text(value: Scalar, names: dict[int, str]) -> str:
    """The text of one node; its operands have names already."""
    match value:
        case Number():
            return repr(value.value) + "n"
        case Local():
            return value.name
        case Apply():
            return f"{value.op}({','.join(names[id(a)] for a in value.args)})"
        case Cast():
            return f"{value.dtype.text}({names[id(value.value)]})"
        case Select():
            a, b, then, otherwise = (
                names[id(operand)] for operand in (value.a, value.b, value.then, value.otherwise)
            )
            return f"{value.op}({a},{b})?{then}:{otherwise}"

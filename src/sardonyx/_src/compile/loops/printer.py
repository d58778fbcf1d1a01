"""Loops as text, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.compile.loops.ir import (
    Apply,
    Cast,
    For,
    Kernel,
    Load,
    Local,
    Number,
    Put,
    Scalar,
    Select,
    Statement,
    Store,
)

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "eq": "=="}


def text(kernel: Kernel) -> str:
    """The kernel, a statement a line."""
    buffers = [f"{b.role} {b.name}: {b.dtype.text}[{b.size}]" for b in kernel.buffers]
    head = f"{kernel.name}({', '.join([*buffers, *kernel.sizes])})"
    return "\n".join([head, *lines(kernel.body, "  ")]) + "\n"


def lines(body: Sequence[Statement], indent: str) -> Iterator[str]:
    for statement in body:
        match statement:
            case Put():
                yield f"{indent}{statement.name} = {value(statement.value)}"
            case Store():
                yield f"{indent}{statement.buffer}[{statement.at}] = {value(statement.value)}"
            case For():
                kind = "parallel " * statement.parallel + "vector " * statement.vector + "for"
                yield f"{indent}{kind} {statement.variable} < {statement.extent}:"
                yield from lines(statement.body, indent + "  ")


def value(found: Scalar) -> str:
    match found:
        case Number():
            return repr(found.value)
        case Local():
            return found.name
        case Load():
            return f"{found.buffer}[{found.at}]"
        case Apply(op=op, args=(a, b)) if op in SIGNS:
            return f"({value(a)} {SIGNS[op]} {value(b)})"
        case Apply():
            return f"{found.op}({', '.join(map(value, found.args))})"
        case Cast():
            return f"{found.dtype.text}({value(found.value)})"
        case Select():
            condition = f"{value(found.a)} {SIGNS[found.op]} {value(found.b)}"
            return f"({value(found.then)} if {condition} else {value(found.otherwise)})"

"""Canonical text of an expression DAG, linear in its size: shared subexpressions are printed once.

Equal text means the same computation, so the text is part of the cache keys of kernels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from sardonyx._src.compile.codegen.expressions import (
    Apply,
    Cast,
    Comparison,
    Local,
    Number,
    Scalar,
    Select,
    topological_order,
)
from sardonyx._src.dtypes import DataType


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


# --- parsing ---------------------------------------------------------------------------------

OPERATION = re.compile(r"(\w+)\(([^()]*)\)(?:\?([^:]+):(.+))?")
ELEMENT_TYPES = {dtype.text: dtype for dtype in DataType}


def parse_canonical_text(text: str) -> tuple[Scalar, ...]:
    """The expressions of a text that `canonical_text` has written."""
    *lines, results = text.split(";")
    values: list[Scalar] = []
    for line in lines:
        values.append(parse_operation(line.partition("=")[2], values))
    return tuple(parse_operand(name, values) for name in results.split(","))


def parse_operation(text: str, values: Sequence[Scalar]) -> Scalar:
    match = OPERATION.fullmatch(text)
    assert match is not None, f"expected an operation, got {text!r}"
    name, args, then, otherwise = match.groups()
    parsed = tuple(parse_operand(arg, values) for arg in args.split(","))
    if then is not None:
        first, second = parsed
        chosen = parse_operand(then, values), parse_operand(otherwise, values)
        return Select(cast("Comparison", name), first, second, *chosen)
    return Cast(ELEMENT_TYPES[name], *parsed) if name in ELEMENT_TYPES else Apply(name, parsed)


def parse_operand(text: str, values: Sequence[Scalar]) -> Scalar:
    if text.isdigit():
        return values[int(text)]
    if not text.endswith("n") or not re.match(r"[-\d]|inf|nan", text):
        return Local(text)
    number = text[:-1]
    return Number(int(number) if re.fullmatch(r"-?\d+", number) else float(number))

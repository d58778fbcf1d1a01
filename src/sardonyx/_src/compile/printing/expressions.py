"""Scalar expressions as readable text: infix operators, and a name for each subexpression that is used more than once."""

from __future__ import annotations

from collections import Counter

from sardonyx._src.compile.codegen.expressions import (
    Apply,
    Cast,
    Local,
    Number,
    Scalar,
    Select,
    operands,
    topological_order,
)

COMPARISON, SUM, PRODUCT, ATOM = range(4)  # precedences of operators, loosest first
INFIX_OPERATORS = {
    "add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "div": ("/", PRODUCT),
    "lt": ("<", COMPARISON), "le": ("<=", COMPARISON), "eq": ("==", COMPARISON),
}  # fmt: skip


def format_expression(*values: Scalar) -> list[str]:
    """The shared subexpressions `t0 = ...`, `t1 = ...`, in order of evaluation, then the expressions in one line."""
    nodes = list(reversed(list(topological_order(*values))))
    uses = Counter(id(operand) for node in nodes for operand in operands(node))
    uses.update(map(id, values))
    texts: dict[int, tuple[str, int]] = {}  # the text and the precedence of each node, by `id`
    statements: list[str] = []
    for node in nodes:
        text, precedence = format_node(node, texts)
        if uses[id(node)] > 1 and not isinstance(node, Local | Number):
            statements.append(f"t{len(statements)} = {text}")
            text, precedence = f"t{len(statements) - 1}", ATOM
        texts[id(node)] = text, precedence
    return [*statements, ", ".join(texts[id(value)][0] for value in values)]


def format_node(node: Scalar, texts: dict[int, tuple[str, int]]) -> tuple[str, int]:
    """The text of a node whose operands have texts, and its precedence."""
    match node:
        case Number():
            return format_number(node.value), ATOM
        case Local():
            return node.name, ATOM
        case Cast():
            return f"{node.dtype.text}({texts[id(node.value)][0]})", ATOM
        case Select():
            condition, _ = format_infix(node.op, node.a, node.b, texts)
            return f"where({condition}, {texts[id(node.then)][0]}, {texts[id(node.otherwise)][0]})", ATOM
        case Apply(op, (left, right)) if op in INFIX_OPERATORS:
            return format_infix(op, left, right, texts)
        case Apply("max", (operand, Number(0))):
            return f"relu({texts[id(operand)][0]})", ATOM
        case Apply():
            return f"{node.op}({', '.join(texts[id(operand)][0] for operand in node.args)})", ATOM


def format_infix(op: str, left: Scalar, right: Scalar, texts: dict[int, tuple[str, int]]) -> tuple[str, int]:
    """A binary operation; operators of the same precedence are grouped from the left."""
    symbol, precedence = INFIX_OPERATORS[op]
    (left_text, left_precedence), (right_text, right_precedence) = texts[id(left)], texts[id(right)]
    left_text = left_text if left_precedence >= precedence else f"({left_text})"
    right_text = right_text if right_precedence > precedence else f"({right_text})"
    return f"{left_text} {symbol} {right_text}", precedence


def format_number(number: float) -> str:
    return (
        str(int(number))
        if number == number and abs(number) < 1e16 and number == int(number)
        else repr(number)
    )

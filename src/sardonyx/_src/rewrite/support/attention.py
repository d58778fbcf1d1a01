"""Patterns of attention written as single nodes: softmax(queries @ keys * scale + mask) @ values.

The pass fuse-attention replaces a match by an Attention node; the compiler emits one kernel for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.engine.matcher import GraphQueries, PatternMatch, find_matches
from sardonyx._src.rewrite.engine.pattern import Pattern, parse_pattern

MAX_FACTORS = 2  # factors and divisors of the scores, applied one after the other
ATTENTION_OPERATORS = ("Mul", "Div", "Add", "Softmax", "Cast")  # the operators between the two products
MIN_SCALE, MAX_SCALE = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
ROUNDING = (
    "Cast<to = @half>({})",
    "Cast<to = 1>({})",
)  # rounds float32 to half precision and converts it back


@dataclass(frozen=True, slots=True)
class AttentionMatch:
    """softmax(queries [..., S, D] @ keys [..., D, T] * scale + mask) @ values [..., T, E].

    nodes: all nodes, from the product of queries and keys to the product of weights and values.
    """

    nodes: tuple[Node, ...]
    queries: Value
    keys: Value
    values: Value
    scale: float
    mask: Value | None


def find_attention(last: Node, graph: GraphQueries, *, is_rounded: bool = False) -> Iterator[AttentionMatch]:
    """All attention that ends with a MatMul; is_rounded: whether scores and weights are rounded to half precision."""
    weights = last.inputs[0] if last.op_type == "MatMul" and last.inputs else None
    if weights is None or weights.producer is None:
        return
    if weights.producer.op_type != ("Cast" if is_rounded else "Softmax"):
        return
    for pattern in attention_patterns(is_rounded):
        for match in find_matches(pattern, last, graph):
            attention = interpret_match(match, pattern, graph)
            if attention is not None:
                yield attention


@cache
def attention_patterns(is_rounded: bool) -> Sequence[Pattern]:
    """The forms of attention: with and without a mask, and with the scores scaled by up to `MAX_FACTORS` operators."""
    scalings = [ops for count in range(MAX_FACTORS + 1) for ops in product(("Mul", "Div"), repeat=count)]
    masks: tuple[tuple[str, ...], ...] = ((), ("Add({}, mask)",))
    texts = []
    for scaling, mask in product(scalings, masks):
        factors = (f"{op_type}({{}}, factor{i})" for i, op_type in enumerate(scaling))
        operators = ("MatMul(queries, keys)", *factors, *mask, "Softmax<axis = @axis>({})")
        texts.append(chain_text(operators, ROUNDING if is_rounded else ()))
    return tuple(map(parse_pattern, texts))


def chain_text(operators: Sequence[str], rounding: Sequence[str]) -> str:
    """The text of a chain of operators, each of which reads the rounded result of the one before, and of the final product."""
    steps = [step for operator in operators for step in (operator, *rounding)]
    steps.append("MatMul({}, values)")
    return " ".join(f"v{i} = {step.format(f'v{i - 1}')}" for i, step in enumerate(steps))


def interpret_match(match: PatternMatch, pattern: Pattern, graph: GraphQueries) -> AttentionMatch | None:
    """A match as attention; None unless the Softmax is along the keys, and the scale is constant and positive."""
    nodes = tuple(match.nodes[part] for part in pattern.nodes)
    queries, keys, values, mask = (match.values.get(name) for name in ("queries", "keys", "values", "mask"))
    scale, ranks = scale_of(match, pattern, graph), {graph.rank(node.outputs[0]) for node in nodes}
    if queries is None or keys is None or values is None or scale is None or len(ranks) != 1:
        return None
    reads_own_results = any(value is not None and value.producer in nodes for value in (mask, values))
    (rank,) = ranks
    if reads_own_results or rank is None or match.attributes["axis"] not in (-1, rank - 1):
        return None
    return AttentionMatch(nodes, queries, keys, values, scale, mask)


def scale_of(match: PatternMatch, pattern: Pattern, graph: GraphQueries) -> float | None:
    """The product of all factors of the scores; None if it is not constant, or no positive normal float32 number."""
    scale = 1.0
    for part in pattern.nodes:
        if part.op_type in ("Mul", "Div"):
            factor = graph.scalar(match.values[part.inputs[1]])
            if factor is None or not math.isfinite(factor) or factor <= 0:
                return None
            scale *= factor if part.op_type == "Mul" else 1 / factor
    return scale if MIN_SCALE <= scale <= MAX_SCALE else None

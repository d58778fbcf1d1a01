"""SX907 nodes-equal: nodes of one graph or function compute the same values from the same inputs.

Clause: none: the specification allows it
Catalogue: -
Why:    one of them suffices.
Bad:    g (float[2] x) => (float[2] y) { a = Exp(x) b = Exp(x) y = Add(a, b) }
Good:   g (float[2] x) => (float[2] y) { a = Exp(x) y = Add(a, a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.reads import subgraphs
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import BodyScope
from sardonyx._src.proto.messages import AttributeProto, FunctionProto, GraphProto, NodeProto


@rule(
    "SX907",
    "info",
    visits=(GraphProto, FunctionProto),
    needs="node",
    suppressed_by="SX110 SX123",
    group="style",
)
def check_nodes_equal(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per body; random and unknown operators are skipped, since their results may differ."""
    body = context.body
    assert body is not None, "a graph or function has a body"
    first: dict[tuple[object, ...], int] = {}
    pairs: list[tuple[int, int]] = []
    for i, node in enumerate(graph.node):
        values = node.__dict__
        inputs = values.get("input")
        if not inputs:
            continue
        j = first.setdefault((values.get("op_type"), *inputs), i)
        if j != i and is_same(graph.node[j], node, body):
            pairs.append((i, j))
    if pairs:
        i, j = pairs[0]
        more = f"; the same applies to {len(pairs) - 1} other nodes here" if len(pairs) > 1 else ""
        yield Finding(f"node[{i}]", f"node[{j}] computes the same{more}", "keep one of the two")


def is_same(first_node: NodeProto, other: NodeProto, body: BodyScope) -> bool:
    schema = body.schema(first_node)
    if schema is None or "seed" in schema.attributes or body.schema(other) is not schema:
        return False
    if any(True for node in (first_node, other) for _ in subgraphs(node)):
        return False
    named = [[bool(name) for name in node.output] for node in (first_node, other)]
    return named[0] == named[1] and attributes_of(first_node) == attributes_of(other)


def attributes_of(node: NodeProto) -> list[AttributeProto]:
    return sorted(node.attribute, key=lambda first_node: first_node.name)

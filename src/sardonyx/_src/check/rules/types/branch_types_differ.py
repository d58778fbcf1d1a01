"""SX710 branch-types-differ: the two branches of an If yield values of different types.

Clause: Operators.md, If
Catalogue: SUB-16
Why:    an output of the node has one type, whichever branch is taken.  Shapes may differ, except for If-1.
Bad:    g (float[2] x, bool c) => (float[2] y) {
          y = If <then_branch = t () => (float[2] p) { p = Abs(x) },
                  else_branch = e () => (int64[2] q) { q = Cast <to = 7> (x) }> (c)
        }
Good:   g (float[2] x, bool c) => (float[N] y) {
          y = If <then_branch = t () => (float[2] p) { p = Abs(x) },
                  else_branch = e () => (float[4] q) { q = Concat <axis = 0> (x, x) }> (c)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding
from sardonyx._src.check.type_rules.subjects import TypedNode, type_rule
from sardonyx._src.check.type_rules.type_names import format_type


@type_rule("SX710", about=TypedNode, suppressed_by="SX703")
def check_branch_types_differ(typed_node: TypedNode) -> Iterator[Finding]:
    """Types are compared even if the condition is constant."""
    if typed_node.schema.name != "If" or typed_node.schema.domain:
        return
    help_ = "convert the result of one branch"
    if typed_node.error is not None:
        yield Finding("", f"{typed_node.name}: {typed_node.why}", help_)
        return
    outputs = [graph.outputs for graph in typed_node.node.subgraphs]
    for i, pair in enumerate(zip(*outputs, strict=False)):
        texts = [format_type(value.type) for value in pair]
        if None not in texts and len(set(texts)) > 1:
            yield Finding(f"output[{i}]", f"one branch yields {texts[0]}, the other one {texts[1]}", help_)

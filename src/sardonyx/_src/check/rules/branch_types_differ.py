"""SX710 branch-types-differ: the two branches of an If yield values of different types.

Clause: Operators.md, If
Catalogue: SUB-16
Why:    an output of the node has one type, whichever branch is taken.  Shapes may differ, but for If-1.
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

from sardonyx._src.check.api import Finding
from sardonyx._src.check.spelling import spelled
from sardonyx._src.check.uses import Use, typed


@typed("SX710", about=Use, unless="SX703")
def branch_types_differ(use: Use) -> Iterator[Finding]:
    """Types are compared where a constant condition decides which branch is taken, too."""
    if use.schema.name != "If" or use.schema.domain:
        return
    help_ = "convert the result of one branch"
    if use.fault is not None:
        yield Finding("", f"{use.name}: {use.why}", help_)
        return
    outputs = [graph.outputs for graph in use.node.subgraphs]
    for i, pair in enumerate(zip(*outputs, strict=False)):
        texts = [spelled(value.type) for value in pair]
        if None not in texts and len(set(texts)) > 1:
            yield Finding(f"output[{i}]", f"one branch yields {texts[0]}, the other one {texts[1]}", help_)

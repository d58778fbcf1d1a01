"""SX110 value-defined-twice: two node outputs of one graph have the same name.

Clause: IR.md, "Graphs", "Nodes": single static assignment
Catalogue: GRA-02 SUB-11 FUN-11 TRN-06 TRN-08
Why:    a reader of the name cannot tell which of the two values it gets.
Bad:    g (float[2] x) => (float[2] y) { y = Abs(x) y = Neg(x) }
Good:   g (float[2] x) => (float[2] y) { a = Abs(x) y = Neg(a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX110", visits=(GraphProto, FunctionProto))
def value_defined_twice(graph: GraphProto | FunctionProto, context: Context) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph or function has a body"
    for i, slot in body.rewritten:
        name = graph.node[i].output[slot]
        says = f"{brief(name)} is already written by {body.written(name)}"
        yield Finding(f"node[{i}].output[{slot}]", says, "rename one of the two outputs")

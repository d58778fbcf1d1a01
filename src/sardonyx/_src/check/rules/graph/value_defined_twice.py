"""SX110 value-defined-twice: two node outputs of one graph have the same name.

Clause: IR.md, "Graphs", "Nodes": single static assignment
Catalogue: GRA-02 SUB-11 FUN-11 TRN-06 TRN-08
Why:    a reference to the name is ambiguous.
Bad:    g (float[2] x) => (float[2] y) { y = Abs(x) y = Neg(x) }
Good:   g (float[2] x) => (float[2] y) { a = Abs(x) y = Neg(a) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX110", visits=(GraphProto, FunctionProto))
def check_value_defined_twice(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph or function has a body"
    for i, slot in body.redefinitions:
        name = graph.node[i].output[slot]
        message = f"{brief(name)} is already defined by {body.node_output(name)}"
        yield Finding(f"node[{i}].output[{slot}]", message, "rename one of the two outputs")

"""SX116 value-redefined: a node output has the name of an input or initializer of its graph.

Clause: IR.md, "Nodes": unique definition
Catalogue: GRA-03 GRA-24 SUB-11 FUN-11
Why:    a reference to the name is ambiguous.
Bad:    g (float[2] x) => (float[2] x) { x = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX116", visits=(GraphProto, FunctionProto))
def check_value_redefined(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph or function has a body"
    for name, other in (body.initializers | body.inputs).items():
        if name in body.producers:
            message = f"{brief(name)} is already defined by {other}"
            yield Finding(str(body.node_output(name)), message, "rename the output")

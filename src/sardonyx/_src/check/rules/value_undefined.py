"""SX113 value-undefined: a node reads a name that nothing defines.

Clause: IR.md, "Nodes"; "Names Within a Graph"
Catalogue: GRA-10 SUB-06 SUB-09 SUB-10 FUN-07 TRN-07 TRN-08 TRN-06
Why:    there is no value for this input.  Values of a subgraph are not visible outside it, and a function sees its own
        values alone.
Bad:    g (float[2] x) => (float[2] y) { y = Abs(z) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX113", visits=(GraphProto, FunctionProto))
def value_undefined(graph: GraphProto | FunctionProto, context: Context) -> Iterator[Finding]:
    """Once for each name and graph."""
    body = context.body
    assert body is not None, "a graph or function has a body"
    told: set[str] = set()
    for i, slot, name in body.unseen:
        if name not in told and not body.sees(name, i) and body.later(name) is None:
            told.add(name)
            says = f"nothing in sight defines {brief(name)}{context.near(name, body.names())}"
            help_ = "correct the name, or add the input, initializer or node that defines it"
            yield Finding(f"node[{i}].input[{slot}]", says, help_)

"""SX114 output-undefined: nothing in a graph or function makes one of its outputs.

Clause: IR.md, "Graphs", "Functions"
Catalogue: GRA-11 SUB-13 FUN-10 SUB-06 SUB-10 TRN-06 TRN-08
Why:    there is no value to hand out.
Bad:    g (float[2] x) => (float[2] z) { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.bodies import output_names
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX114", visits=(GraphProto, FunctionProto))
def output_undefined(graph: GraphProto | FunctionProto, context: Context) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph or function has a body"
    for i, name in enumerate(output_names(graph)):
        if not name or body.own(name) is not None:
            continue
        if body.outer is None or not body.outer.sees(name, body.holder):
            says = f"nothing here makes {brief(name)}{context.near(name, chain(body.writers, body.inputs))}"
            yield Finding(f"output[{i}]", says, "correct the name, or add the node that makes the value")

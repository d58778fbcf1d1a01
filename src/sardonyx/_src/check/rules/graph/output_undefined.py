"""SX114 output-undefined: nothing in a graph or function defines one of its outputs.

Clause: IR.md, "Graphs", "Functions"
Catalogue: GRA-11 SUB-13 FUN-10 SUB-06 SUB-10 TRN-06 TRN-08
Why:    there is no value to return.
Bad:    g (float[2] x) => (float[2] z) { y = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.engine.body import output_names
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX114", visits=(GraphProto, FunctionProto))
def check_output_undefined(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    body = context.body
    assert body is not None, "a graph or function has a body"
    for i, name in enumerate(output_names(graph)):
        if not name or body.definition(name) is not None:
            continue
        if body.outer is None or not body.outer.is_visible(name, body.outer_node):
            message = (
                f"nothing here defines {brief(name)}{context.near(name, chain(body.producers, body.inputs))}"
            )
            yield Finding(
                f"output[{i}]", message, "correct the name, or add the node that computes the value"
            )

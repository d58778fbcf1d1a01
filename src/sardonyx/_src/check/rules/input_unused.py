"""SX905 input-unused: nothing reads an input of the main graph, of a training step or of a function.

Clause: none: the specification allows it
Catalogue: -
Why:    callers have to feed it for nothing, or a name that was meant to be it is another one.
Bad:    g (float[2] x, float[2] z) => (float[2] y) { y = Abs(x) }
Good:   g (float[2] x, float[2] z) => (float[2] y) { y = Add(x, z) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.liveness import is_whole, read_in
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX905", "info", visits=(GraphProto, FunctionProto), needs="input", unless="SX101")
def input_unused(graph: GraphProto | FunctionProto, context: Context) -> Iterator[Finding]:
    """Not in nested graphs: their inputs are what the operator hands them."""
    body = context.body
    assert body is not None, "a graph or function has a body"
    if body.kind == "nested":
        return
    unread = body.inputs.keys() - read_in(body, context.document) - {""}
    for name in unread if unread and is_whole(body) else ():
        says = f"nothing reads {brief(name)}"
        yield Finding(str(body.inputs[name]), says, "drop it, unless callers count on its being there")

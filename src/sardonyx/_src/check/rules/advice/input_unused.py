"""SX905 input-unused: nothing reads an input of the main graph, of a training step or of a function.

Clause: none: the specification allows it
Catalogue: -
Why:    callers must feed it needlessly, or a reference to it is misspelled.
Bad:    g (float[2] x, float[2] z) => (float[2] y) { y = Abs(x) }
Good:   g (float[2] x, float[2] z) => (float[2] y) { y = Add(x, z) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.liveness import is_fully_defined, read_in
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule(
    "SX905", "info", visits=(GraphProto, FunctionProto), needs="input", suppressed_by="SX101", group="style"
)
def check_input_unused(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    """Not reported in nested graphs, whose inputs are determined by the operator."""
    body = context.body
    assert body is not None, "a graph or function has a body"
    if body.kind == "nested":
        return
    unread = body.inputs.keys() - read_in(body, context.document) - {""}
    for name in unread if unread and is_fully_defined(body) else ():
        message = f"nothing reads {brief(name)}"
        yield Finding(str(body.inputs[name]), message, "drop it, unless callers rely on it")

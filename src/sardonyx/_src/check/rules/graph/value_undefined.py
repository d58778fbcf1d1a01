"""SX113 value-undefined: a node reads a name that nothing defines.

Clause: IR.md, "Nodes"; "Names Within a Graph"
Catalogue: GRA-10 SUB-06 SUB-09 SUB-10 FUN-07 TRN-07 TRN-08 TRN-06
Why:    there is no value for this input.  Values of a subgraph are not visible outside it, and a function can use only its
        own values.
Bad:    g (float[2] x) => (float[2] y) { y = Abs(z) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, GraphProto
from sardonyx._src.proto.record import brief


@rule("SX113", visits=(GraphProto, FunctionProto))
def check_value_undefined(graph: GraphProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per name and graph."""
    body = context.body
    assert body is not None, "a graph or function has a body"
    reported: set[str] = set()
    for i, slot, name in body.unresolved_reads:
        if name not in reported and not body.is_visible(name, i) and body.later_definition(name) is None:
            reported.add(name)
            message = f"nothing visible here defines {brief(name)}{context.near(name, body.known_names())}"
            help_ = "correct the name, or add the input, initializer or node that defines it"
            yield Finding(f"node[{i}].input[{slot}]", message, help_)

"""SX129 loop-body-differs: the body of a Loop or Scan has not as many inputs and outputs as the node calls for.

Clause: Operators.md, Loop, Scan
Catalogue: SUB-17
Why:    values go in and out by position: of a Loop the iteration number, the condition and the carried values, out the
        condition, the carried and the scanned values; of a Scan the states and the slices.
Bad:    g (int64 n, bool c, float[2] x) => (float[2] y) {
          y = Loop <body = b (int64 i, bool k) => (bool k2, float[2] w) { k2 = Identity(k) w = Abs(x) }> (n, c, x)
        }
Good:   g (int64 n, bool c, float[2] x) => (float[2] y) {
          y = Loop <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) {
            k2 = Identity(k) w = Abs(v)
          }> (n, c, x)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.reading import control_bodies
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.schema import canonical


@rule("SX129", visits=NodeProto, unless="SX127", needs="attribute", by_form=True)
def loop_body_differs(node: NodeProto, context: Context) -> Iterator[Finding]:
    if node.op_type not in ("Loop", "Scan") or canonical(node.domain):
        return
    schema = context.schema
    if schema is None:
        return
    extra = (
        1 if node.op_type == "Scan" and schema.since_version == 8 else 0
    )  # sequence_lens, which the body lacks
    for path, graph, supplied in control_bodies(node):
        wanted = supplied - extra
        own = {tensor.name for tensor in graph.initializer}  # from IR version 4 on SX125 tells of these
        given = sum(i < wanted or value.name not in own for i, value in enumerate(graph.input))
        if given != wanted:
            says = f"the body has {given} inputs, {node.op_type} supplies {wanted}"
            yield Finding(path, says, "give the body an input for each value that it is handed")
        outputs = len(node.output) + (node.op_type == "Loop")
        if len(graph.output) != outputs:
            says = f"the body yields {len(graph.output)} values; this {node.op_type} calls for {outputs}"
            yield Finding(path, says, "give the body an output for each value that the node takes from it")

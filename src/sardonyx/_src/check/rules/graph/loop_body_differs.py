"""SX129 loop-body-differs: the body of a Loop or Scan has another number of inputs or outputs than the node requires.

Clause: Operators.md, Loop, Scan
Catalogue: SUB-17
Why:    values are passed by position: into a Loop's body the iteration number, the condition and the carried values, out
        of it the condition, the carried and the scanned values; for a Scan, the states and the slices.
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

from sardonyx._src.check.analysis.reads import control_bodies
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.schema import canonical


@rule("SX129", visits=NodeProto, suppressed_by="SX127", needs="attribute", cached_by_fingerprint=True)
def check_loop_body_differs(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    if node.op_type not in ("Loop", "Scan") or canonical(node.domain):
        return
    schema = context.schema
    if schema is None:
        return
    # Scan-8 has an input sequence_lens, which is not passed to the body.
    extra = 1 if node.op_type == "Scan" and schema.since_version == 8 else 0
    for path, graph, supplied in control_bodies(node):
        expected = supplied - extra
        # Below IR version 4, each initializer of the body is an input of it too, after those that receive values.  From 4 on,
        # SX125 reports such inputs.
        initialized = {tensor.name for tensor in graph.initializer}
        actual = sum(i < expected or value.name not in initialized for i, value in enumerate(graph.input))
        if actual != expected:
            message = f"the body must have {expected} inputs for this {node.op_type}; got {actual}"
            yield Finding(path, message, "give the body one input for each value that is passed to it")
        outputs = len(node.output) + (node.op_type == "Loop")
        if len(graph.output) != outputs:
            message = f"the body must have {outputs} outputs for this {node.op_type}; got {len(graph.output)}"
            yield Finding(path, message, "give the body one output for each value that the node expects")

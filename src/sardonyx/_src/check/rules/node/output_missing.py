"""SX206 output-missing: a required output of a node has no name.

Clause: IR.md, "Optional Inputs and Outputs"; Operators.md
Catalogue: NOD-07
Why:    only optional outputs may be omitted or have the empty name.
Bad:    g (float[N, 2] x, int64[1] k) => (int64[1, 2] i) { "", i = TopK <axis = 0> (x, k) }
Good:   g (float[N, 2] x, int64[1] k) => (int64[1, 2] i) { v, i = TopK <axis = 0> (x, k) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto


@rule("SX206", visits=NodeProto, suppressed_by="SX123 SX003", cached_by_fingerprint=True)
def check_output_missing(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    for i, formal in enumerate(schema.outputs):
        if formal.option == "single" and (i >= len(node.output) or not node.output[i]):
            path = f"output[{i}]" if i < len(node.output) else "output"
            message = f"output {i} of {node.op_type}-{schema.since_version}, {formal.name}, is required"
            yield Finding(path, message, "name the output")
            return

"""SX206 output-missing: a node leaves a required output of its operator without a name.

Clause: IR.md, "Optional Inputs and Outputs"; Operators.md
Catalogue: NOD-07
Why:    only optional outputs may be left out, or have the empty name.
Bad:    g (float[N, 2] x, int64[1] k) => (int64[1, 2] i) { "", i = TopK <axis = 0> (x, k) }
Good:   g (float[N, 2] x, int64[1] k) => (int64[1, 2] i) { v, i = TopK <axis = 0> (x, k) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto


@rule("SX206", visits=NodeProto, unless="SX123 SX003", by_form=True)
def output_missing(node: NodeProto, context: Context) -> Iterator[Finding]:
    schema = context.schema
    if schema is None:
        return
    for i, formal in enumerate(schema.outputs):
        if formal.option == "single" and (i >= len(node.output) or not node.output[i]):
            at = f"output[{i}]" if i < len(node.output) else "output"
            says = f"output {i} of {node.op_type}-{schema.since_version}, {formal.name}, is required"
            yield Finding(at, says, "name the output")
            return

"""SX205 outputs-too-many: a node has more outputs than its operator.

Clause: IR.md, "Nodes"; Operators.md
Catalogue: NOD-06
Why:    nothing computes these values.
Bad:    g (float[2] x) => (float[2] y) { y, z = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto


@rule("SX205", visits=NodeProto, cached_by_fingerprint=True)
def check_outputs_too_many(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema = context.schema
    if schema is not None and schema.max_outputs is not None and len(node.output) > schema.max_outputs:
        message = f"{node.op_type}-{schema.since_version} must have at most {schema.max_outputs} outputs; got {len(node.output)}"
        yield Finding(f"output[{schema.max_outputs}]", message, "drop the surplus outputs")

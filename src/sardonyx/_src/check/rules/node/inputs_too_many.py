"""SX203 inputs-too-many: a node has more inputs than its operator.

Clause: IR.md, "Nodes"; Operators.md
Catalogue: NOD-04
Why:    the operator does not use them.
Bad:    g (float[2] x) => (float[2] y) { y = Abs(x, x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto


@rule("SX203", visits=NodeProto, cached_by_fingerprint=True)
def check_inputs_too_many(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema = context.schema
    if schema is not None and schema.max_inputs is not None and len(node.input) > schema.max_inputs:
        message = f"{node.op_type}-{schema.since_version} must have at most {schema.max_inputs} inputs; got {len(node.input)}"
        yield Finding(f"input[{schema.max_inputs}]", message, "drop the surplus inputs")

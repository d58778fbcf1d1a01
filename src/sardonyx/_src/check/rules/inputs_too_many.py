"""SX203 inputs-too-many: a node gives more inputs than its operator takes.

Clause: IR.md, "Nodes"; Operators.md
Catalogue: NOD-04
Why:    the operator has no use for them.
Bad:    g (float[2] x) => (float[2] y) { y = Abs(x, x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto


@rule("SX203", visits=NodeProto, by_form=True)
def inputs_too_many(node: NodeProto, context: Context) -> Iterator[Finding]:
    schema = context.schema
    if schema is not None and schema.max_inputs is not None and len(node.input) > schema.max_inputs:
        says = f"{node.op_type}-{schema.since_version} takes {schema.max_inputs}, the node gives {len(node.input)}"
        yield Finding(f"input[{schema.max_inputs}]", says, "drop the inputs that are too many")

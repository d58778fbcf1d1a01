"""SX205 outputs-too-many: a node takes more outputs than its operator has.

Clause: IR.md, "Nodes"; Operators.md
Catalogue: NOD-06
Why:    nothing makes these values.
Bad:    g (float[2] x) => (float[2] y) { y, z = Abs(x) }
Good:   g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto


@rule("SX205", visits=NodeProto, by_form=True)
def outputs_too_many(node: NodeProto, context: Context) -> Iterator[Finding]:
    schema = context.schema
    if schema is not None and schema.max_outputs is not None and len(node.output) > schema.max_outputs:
        says = f"{node.op_type}-{schema.since_version} has {schema.max_outputs}, the node takes {len(node.output)}"
        yield Finding(f"output[{schema.max_outputs}]", says, "drop the outputs that are too many")

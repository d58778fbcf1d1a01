"""SX217 operator-experimental: an operator is experimental in its operator set.

Clause: IR.md, "Operators", status; Versioning.md
Catalogue: -
Why:    its definition may change or be removed without a new version of the set.
Bad:    <opset_import: ["": 7]> g (float[2] x) => (float[2] y) { y = ScaledTanh (x) }
Good:   <opset_import: ["": 7]> g (float[2] x) => (float[2] y) { y = Tanh (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.schema import canonical, last_version


@rule("SX217", "info", visits=NodeProto, cached_by_fingerprint=True, suppressed_by="SX225")
def check_operator_experimental(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema, last = context.schema, last_version(canonical(node.domain), node.op_type)
    if schema is not None and schema.status != "common":
        message = f"{node.op_type}-{schema.since_version} is {schema.status}"
    elif schema is None and last is not None and context.callee is None:
        message = f"{node.op_type} is withdrawn, and no signature of it is known"
    else:
        return
    yield Finding("", message, "use stable operators instead")

"""SX214 operator-deprecated: the imported version of an operator set has deprecated this operator.

Clause: Versioning.md, "Operator versioning"; Operators.md
Catalogue: NOD-02
Why:    from this version on, the operator must not be used; readers refuse it.
Bad:    g (float[1, 1, 2, 2] x, float[4] s) => (float[1, 1, 4, 4] y) { y = Upsample (x, s) }
Good:   <opset_import: ["": 9]> g (float[1, 1, 2, 2] x, float[4] s) => (float[1, 1, 4, 4] y) { y = Upsample (x, s) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine.api import Finding, rule
from sardonyx._src.check.engine.context import RuleContext
from sardonyx._src.proto.messages import NodeProto


@rule("SX214", visits=NodeProto, by_fingerprint=True)
def check_operator_deprecated(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema = context.schema
    if schema is not None and schema.deprecated:
        message = f"{node.op_type} is deprecated since version {schema.since_version} of {schema.domain or 'ai.onnx'}"
        yield Finding("", message, "use its successor, or import an earlier version of the set")

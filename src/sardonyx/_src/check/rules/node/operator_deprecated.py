"""SX214 operator-deprecated: the imported version of an operator set has deprecated this operator.

Clause: Versioning.md, "Operator versioning"; Operators.md
Catalogue: NOD-02
Why:    from this version on, the operator must not be used; readers refuse it.  A version that was deprecated when a later
        one replaced it, as GroupNormalization-18 by 21, is a warning: below the later version nothing has deprecated it.
Bad:    g (float[1, 1, 2, 2] x, float[4] s) => (float[1, 1, 4, 4] y) { y = Upsample (x, s) }
Good:   <opset_import: ["": 9]> g (float[1, 1, 2, 2] x, float[4] s) => (float[1, 1, 4, 4] y) { y = Upsample (x, s) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.schema import replacement_of


@rule("SX214", visits=NodeProto, cached_by_fingerprint=True)
def check_operator_deprecated(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    schema = context.schema
    if schema is None or not schema.deprecated:
        return
    domain, replacement = schema.domain or "ai.onnx", replacement_of(schema)
    if replacement is None:
        message = f"{node.op_type} is deprecated since version {schema.since_version} of {domain}"
        yield Finding("", message, "use its successor, or import an earlier version of the set")
    else:
        message = f"{node.op_type}-{schema.since_version} was deprecated when {node.op_type}-{replacement} replaced it"
        yield Finding("", message, f"convert the model to version {replacement} of {domain}", "warning")

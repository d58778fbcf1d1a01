"""SX904 import-unused: a model or function imports an operator set that it does not use.

Clause: none: the specification allows it
Catalogue: -
Why:    readers that do not know the set refuse the model needlessly.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.reads import bodies_of
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, ModelProto
from sardonyx._src.proto.record import brief
from sardonyx._src.schema import canonical


@rule(
    "SX904",
    "info",
    visits=(ModelProto, FunctionProto),
    needs="opset_import",
    suppressed_by="SX035",
    group="style",
)
def check_import_unused(holder: ModelProto | FunctionProto, context: RuleContext) -> Iterator[Finding]:
    """The ONNX set may always be imported; nodes of functions count as uses by the model."""
    if all(not canonical(opset.domain) for opset in holder.opset_import):
        return
    model = holder if isinstance(holder, ModelProto) else ModelProto(functions=[holder])
    used = {canonical(node.domain) for _, body in bodies_of(model) for node in body.node}
    for i, opset in enumerate(holder.opset_import):
        domain = canonical(opset.domain)
        if domain and domain not in used:
            yield Finding(f"opset_import[{i}]", f"no node uses {brief(domain)}", "drop the import")

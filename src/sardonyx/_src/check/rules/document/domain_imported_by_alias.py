"""SX036 domain-imported-by-alias: the ONNX operator set is imported under both its names.

Clause: ONNXTypes.md; onnx.proto, OperatorSetIdProto.domain
Catalogue: OPS-07 FUN-14
Why:    "" and "ai.onnx" are one set; the higher version binds, but many readers take the last one.  Equal
        versions are only an info, since both mean the same.
Bad:    <opset_import: ["": 20, "ai.onnx": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <opset_import: ["ai.onnx": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, Severity, rule
from sardonyx._src.proto.messages import FunctionProto, ModelProto


@rule("SX036", "warning", visits=(ModelProto, FunctionProto), group="strict")
def check_domain_imported_by_alias(
    holder: ModelProto | FunctionProto, context: RuleContext
) -> Iterator[Finding]:
    places = {opset.domain: i for i, opset in enumerate(holder.opset_import)}
    if "" in places and "ai.onnx" in places:
        first, last = sorted((places[""], places["ai.onnx"]))
        imports = holder.opset_import
        severity: Severity = "info" if imports[first].version == imports[last].version else "warning"
        message = f"the set of opset_import[{first}] is imported again under its other name"
        yield Finding(f"opset_import[{last}]", message, "keep only the higher version, which binds", severity)

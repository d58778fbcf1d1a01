"""SX053 type-before-ir-8: a model of an early IR version has optional or sparse tensor types, or types as attributes.

Clause: IR.md, "Standard data types"; onnx.proto, Version, IR_VERSION_2021_7_30
Catalogue: VER-04
Why:    readers of that version do not know these types.
Bad:    <ir_version: 7, opset_import: ["": 15]> g (float[2] x) => (optional(float[2]) y) { y = Optional(x) }
Good:   <ir_version: 8, opset_import: ["": 15]> g (float[2] x) => (optional(float[2]) y) { y = Optional(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import AttributeProto, TypeProto


@rule("SX053", visits=(TypeProto, AttributeProto), until=7, suppresses=True, cached_by_fingerprint=True)
def check_type_before_ir_8(holder: TypeProto | AttributeProto, context: RuleContext) -> Iterator[Finding]:
    if isinstance(holder, TypeProto):
        kind = holder.which("value")
        what = kind.replace("_", " ") + "s" if kind in ("optional_type", "sparse_tensor_type") else ""
    else:
        what = "attributes that are types" if holder.has("tp") or len(holder.type_protos) else ""
    if what:
        message = f"{what} require IR version 8; the model has version {context.ir_version}"
        yield Finding("", message, "raise ir_version to 8")

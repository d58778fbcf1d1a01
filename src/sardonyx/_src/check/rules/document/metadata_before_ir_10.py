"""SX059 metadata-before-ir-10: an object other than the model has metadata in an early IR version.

Clause: IR.md, "Other Metadata"; onnx.proto, Version, IR_VERSION_2024_3_25
Catalogue: VER-10
Why:    readers of that version ignore the field.
Bad:    <ir_version: 9, opset_import: ["": 18]> g (float[2] x) => (float[2] y) {
          y = Abs(x) @{metadata_props: ["com.example.a": "1"]}
        }
Good:   <ir_version: 10, opset_import: ["": 18]> g (float[2] x) => (float[2] y) {
          y = Abs(x) @{metadata_props: ["com.example.a": "1"]}
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto, GraphProto, NodeProto, TensorProto, ValueInfoProto


@rule(
    "SX059",
    "warning",
    visits=(GraphProto, NodeProto, FunctionProto, ValueInfoProto, TensorProto),
    until=9,
    needs="metadata_props",
)
def check_metadata_before_ir_10(
    holder: GraphProto | NodeProto | FunctionProto | ValueInfoProto | TensorProto, context: RuleContext
) -> Iterator[Finding]:
    """Reported once per class of record."""
    if holder.has("metadata_props") and holder.metadata_props:
        kind = type(holder).__name__
        message = (
            f"metadata_props of {kind} requires IR version 10; the model has version {context.ir_version}"
        )
        yield Finding("metadata_props", message, "raise ir_version to 10", dedup_key=kind)

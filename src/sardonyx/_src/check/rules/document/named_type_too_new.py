"""SX062 named-type-too-new: an attribute names an element type that is newer than the model's IR version.

Clause: onnx.proto, Version, TensorProto.DataType
Catalogue: VER-01
Why:    readers of that version do not know the type.
Bad:    <ir_version: 9> g (float[2] x) => (float[2] y) { i = Cast <to = 22> (x) y = Cast <to = 1> (i) }
Good:   <ir_version: 10> g (float[2] x) => (float[2] y) { i = Cast <to = 22> (x) y = Cast <to = 1> (i) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.element_type_attributes import element_type_attributes
from sardonyx._src.proto.messages import NodeProto


@rule(
    "SX062",
    visits=NodeProto,
    needs="attribute",
    suppressed_by="SX218 SX211 SX212",
    cached_by_fingerprint=True,
)
def check_named_type_too_new(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per type."""
    schema = context.schema
    if schema is None:
        return
    for i, _, dtype in element_type_attributes(node, schema):
        if dtype is not None and dtype.ir_version > context.ir_version:
            message = f"{dtype.name} requires IR version {dtype.ir_version}; the model has version {context.ir_version}"
            help_ = f"raise ir_version to {dtype.ir_version}"
            yield Finding(f"attribute[{i}]", message, help_, dedup_key=dtype.name)

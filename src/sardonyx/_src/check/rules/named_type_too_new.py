"""SX062 named-type-too-new: an attribute names an element type that is newer than the model's IR version.

Clause: onnx.proto, Version, TensorProto.DataType
Catalogue: VER-01
Why:    readers of that version do not know the type.
Bad:    <ir_version: 9> g (float[2] x) => (float[2] y) { i = Cast <to = 22> (x) y = Cast <to = 1> (i) }
Good:   <ir_version: 10> g (float[2] x) => (float[2] y) { i = Cast <to = 22> (x) y = Cast <to = 1> (i) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.named_types import named_types
from sardonyx._src.proto.messages import NodeProto


@rule("SX062", visits=NodeProto, needs="attribute", unless="SX218 SX211 SX212", by_form=True)
def named_type_too_new(node: NodeProto, context: Context) -> Iterator[Finding]:
    """Once for each type."""
    schema = context.schema
    if schema is None:
        return
    for i, _, dtype in named_types(node, schema):
        if dtype is not None and dtype.ir_version > context.ir_version:
            says = (
                f"{dtype.name} came with IR version {dtype.ir_version}; the model says {context.ir_version}"
            )
            help_ = f"raise ir_version to {dtype.ir_version}"
            yield Finding(f"attribute[{i}]", says, help_, once=dtype.name)

"""SX020 metadata-key-twice: a list of metadata has a duplicate key.

Clause: IR.md, "Models", "Graphs", "Nodes", metadata_props; onnx.proto, StringStringEntryProto
Catalogue: MET-01
Why:    the list represents a map; which of the two values applies depends on the reader.
Bad:    <metadata_props: ["com.example.a": "1", "com.example.a": "2"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <metadata_props: ["com.example.a": "1", "com.example.b": "2"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import (
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
)
from sardonyx._src.proto.record import brief

HOLDERS = (ModelProto, GraphProto, NodeProto, FunctionProto, ValueInfoProto, TensorProto)


@rule("SX020", visits=HOLDERS, needs="metadata_props")
def check_metadata_key_twice(
    holder: ModelProto | GraphProto | NodeProto | FunctionProto | ValueInfoProto | TensorProto,
    context: RuleContext,
) -> Iterator[Finding]:
    if context.ir_version < 10 and not isinstance(holder, ModelProto):
        return
    first: dict[str, int] = {}
    for i, entry in enumerate(holder.metadata_props):
        if first.setdefault(entry.key, i) != i:
            message = f"the key {brief(entry.key)} duplicates that of metadata_props[{first[entry.key]}]"
            yield Finding(f"metadata_props[{i}].key", message, "keep one of the two entries")

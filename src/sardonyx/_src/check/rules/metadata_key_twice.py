"""SX020 metadata-key-twice: one list of metadata has a key twice.

Clause: IR.md, "Models", "Graphs", "Nodes", metadata_props; onnx.proto, StringStringEntryProto
Catalogue: MET-01
Why:    the list stands for a map; which of the two values holds is up to the reader.
Bad:    <metadata_props: ["com.example.a": "1", "com.example.a": "2"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <metadata_props: ["com.example.a": "1", "com.example.b": "2"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
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
def metadata_key_twice(
    holder: ModelProto | GraphProto | NodeProto | FunctionProto | ValueInfoProto | TensorProto,
    context: Context,
) -> Iterator[Finding]:
    if context.ir_version < 10 and not isinstance(holder, ModelProto):
        return
    first: dict[str, int] = {}
    for i, entry in enumerate(holder.metadata_props):
        if first.setdefault(entry.key, i) != i:
            says = f"the key {brief(entry.key)} stands already at metadata_props[{first[entry.key]}]"
            yield Finding(f"metadata_props[{i}].key", says, "keep one of the two entries")

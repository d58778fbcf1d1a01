"""SX005 document-empty: the document has no field at all.

Clause: protobuf encoding, "Message Structure"; onnx.proto, ModelProto
Catalogue: WIR-04
Why:    an empty file decodes as a message in which everything is missing.
Bad:    hex
Good:   <> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import (
    MapProto,
    ModelProto,
    OperatorSetProto,
    OptionalProto,
    SequenceProto,
    TensorProto,
)


@rule(
    "SX005",
    visits=(ModelProto, OperatorSetProto, SequenceProto, MapProto, OptionalProto, TensorProto),
    hides=True,
    by_form=True,
)
def document_empty(
    record: ModelProto | OperatorSetProto | SequenceProto | MapProto | OptionalProto | TensorProto,
    context: Context,
) -> Iterator[Finding]:
    if context.is_root and not any(record.present()) and not record.unknown:
        yield Finding("", "the file is empty", "export or copy the file again")

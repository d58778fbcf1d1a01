"""SX005 document-empty: the document has no field at all.

Clause: protobuf encoding, "Message Structure"; onnx.proto, ModelProto
Catalogue: WIR-04
Why:    an empty file decodes as a message without any field.
Bad:    hex
Good:   <> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
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
    suppresses=True,
    cached_by_fingerprint=True,
)
def check_document_empty(
    record: ModelProto | OperatorSetProto | SequenceProto | MapProto | OptionalProto | TensorProto,
    context: RuleContext,
) -> Iterator[Finding]:
    if context.is_root and not any(record.present()) and not record.unknown:
        yield Finding("", "the file is empty", "export or copy the file again")

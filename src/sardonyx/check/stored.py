"""The fields in which stored sequences and optionals hold their elements (onnx-data.proto)."""

from __future__ import annotations

from sardonyx.proto.messages import SequenceProtoDataType as Kind

ELEMENTS: dict[int, str] = {  # of an optional; those of a sequence are plural
    Kind.TENSOR: "tensor_value",
    Kind.SPARSE_TENSOR: "sparse_tensor_value",
    Kind.SEQUENCE: "sequence_value",
    Kind.MAP: "map_value",
    Kind.OPTIONAL: "optional_value",
}

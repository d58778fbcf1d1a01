"""Which field of an attribute holds its value (onnx.proto, AttributeProto)."""

from __future__ import annotations

from sardonyx._src.proto.messages import AttributeProto, AttributeProtoAttributeType

Type = AttributeProtoAttributeType
FIELDS: dict[int, str] = {
    Type.FLOAT: "f",
    Type.INT: "i",
    Type.STRING: "s",
    Type.TENSOR: "t",
    Type.GRAPH: "g",
    Type.FLOATS: "floats",
    Type.INTS: "ints",
    Type.STRINGS: "strings",
    Type.TENSORS: "tensors",
    Type.GRAPHS: "graphs",
    Type.SPARSE_TENSOR: "sparse_tensor",
    Type.SPARSE_TENSORS: "sparse_tensors",
    Type.TYPE_PROTO: "tp",
    Type.TYPE_PROTOS: "type_protos",
}
TYPES = {field: number for number, field in FIELDS.items()}


def filled(one: AttributeProto) -> list[str]:
    """The fields for values that hold something, in the order of their numbers."""
    return [field.name for field, _ in one.present() if field.name in TYPES]


def kind_of(one: AttributeProto) -> int:
    """The attribute's type; where none is stated, as in IR version 1, that of the field that is filled."""
    if one.type:
        return one.type
    fields = filled(one)
    return TYPES[fields[0]] if fields else 0

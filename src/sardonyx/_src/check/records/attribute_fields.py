"""The fields of an attribute that hold its value, by type (onnx.proto, AttributeProto)."""

from __future__ import annotations

from sardonyx._src.proto.messages import AttributeProto, AttributeProtoAttributeType

Type = AttributeProtoAttributeType
VALUE_FIELDS: dict[int, str] = {
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
TYPES_BY_VALUE_FIELD = {field: number for number, field in VALUE_FIELDS.items()}


def filled_fields(attribute: AttributeProto) -> list[str]:
    """The value fields that are set, in the order of their numbers."""
    return [field.name for field, _ in attribute.present() if field.name in TYPES_BY_VALUE_FIELD]


def attribute_type_of(attribute: AttributeProto) -> int:
    """The attribute's type; if it states none, as in IR version 1, the type of the field that is set."""
    if attribute.type:
        return attribute.type
    fields = filled_fields(attribute)
    return TYPES_BY_VALUE_FIELD[fields[0]] if fields else 0

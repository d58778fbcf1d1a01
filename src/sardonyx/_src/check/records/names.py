"""The syntax of names (IR.md, "Names Within a Graph"; onnx.proto, OperatorSetIdProto.domain)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sardonyx._src.proto.messages import AttributeProtoAttributeType, TensorProtoDataType, TypeProto
from sardonyx._src.proto.record import Payload

C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
DOMAIN_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?\Z")
ELEMENT_TYPE_NAMES = {int(number): number.name for number in TensorProtoDataType}
ATTRIBUTE_TYPE_NAMES = {int(number): number.name for number in AttributeProtoAttributeType}
KEY_TYPES = frozenset(  # the key types of maps (onnx.proto, TypeProto.Map)
    TensorProtoDataType[name] for name in "INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 STRING".split()
)
TOP_LEVEL_DOMAINS = (
    frozenset(  # a name that ends with one of these labels is a domain name that is not reversed
        "com edu gov int mil net org ai io au br ca ch cn de es eu fr jp kr nl pl ru se uk".split()
    )
)


def is_identifier(name: str) -> bool:
    """Whether the name is an identifier of C90."""
    return C_IDENTIFIER.match(name) is not None


def is_reverse_domain_name(domain: str) -> bool:
    """Whether the domain has the form `com.example.vision`: labels from general to special."""
    labels = domain.split(".")
    if len(labels) < 2 or not all(map(DOMAIN_LABEL.match, labels)):
        return False
    return labels[-1].lower() not in TOP_LEVEL_DOMAINS or labels[0].lower() in TOP_LEVEL_DOMAINS


def element_type(number: int) -> str:
    """FLOAT for 1; the number itself if it has no name."""
    return ELEMENT_TYPE_NAMES.get(number, str(number))


def attribute_type(number: int) -> str:
    return ATTRIBUTE_TYPE_NAMES.get(number, str(number))


def variables_in(type_: TypeProto | None) -> Iterator[str]:
    """The dimension variables in a type, including those in sequences, maps and optionals."""
    while type_ is not None:
        holder = type_.tensor_type or type_.sparse_tensor_type
        if holder is not None and holder.shape is not None:
            yield from (dim.dim_param for dim in holder.shape.dim if dim.has("dim_param"))
        inner = type_.sequence_type or type_.optional_type
        type_ = (
            inner.elem_type if inner is not None else type_.map_type.value_type if type_.map_type else None
        )


def is_utf8(data: Payload) -> bool:
    try:
        bytes(data).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True

"""Printers of types, dimensions, value infos, metadata entries and opset imports.

A printer returns None for a record that its notation cannot represent.
"""

from __future__ import annotations

from sardonyx._src.proto.messages import (
    OperatorSetIdProto,
    StringStringEntryProto,
    TensorShapeProtoDimension,
    TypeProto,
    TypeProtoMap,
    TypeProtoOpaque,
    TypeProtoOptional,
    TypeProtoSequence,
    TypeProtoSparseTensor,
    TypeProtoTensor,
    ValueInfoProto,
)
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.text.print_records import Style, format_extras, has_only, register_writer, write
from sardonyx._src.proto.text.words import DATA_TYPES, quote, quote_dotted_name, quote_word


@register_writer(TypeProto)
def write_type(type_: TypeProto, style: Style) -> str | None:
    kind = type_.which("value")
    text = "?" if kind is None else write_kind(getattr(type_, kind), style)
    return None if text is None else text + format_extras(type_, (kind or "",), style)


def write_kind(kind: object, style: Style) -> str | None:
    """The text of a type's kind, the message in its oneof `value`."""
    match kind:
        case TypeProtoTensor():
            return write_tensor_type(kind, style)
        case TypeProtoSequence() if has_only(kind, "elem_type"):
            return f"seq({write_inner(kind.elem_type, style)})"
        case TypeProtoOptional() if has_only(kind, "elem_type"):
            return f"optional({write_inner(kind.elem_type, style)})"
        case TypeProtoSparseTensor():
            text = write_tensor_type(kind, style)
            return None if text is None else f"sparse_tensor({text})"
        case TypeProtoMap() if has_only(kind, "key_type", "value_type"):
            key = element_type(kind, "key_type") if kind.has("key_type") else ""
            return None if key is None else f"map({key}, {write_inner(kind.value_type, style)})"
        case TypeProtoOpaque() if has_only(kind, "domain", "name"):
            return f"opaque({write_opaque(kind)})"
    return None


def write_inner(type_: TypeProto | None, style: Style) -> str:
    return "" if type_ is None else write(type_, style)


def write_opaque(kind: TypeProtoOpaque) -> str:
    name = quote_dotted_name(kind.name) if kind.has("name") else ""
    if not kind.has("domain"):
        return name
    if kind.has("name"):
        name = quote_word(kind.name)
    return f"{quote_dotted_name(kind.domain)}, {name}" if name else f"{quote_dotted_name(kind.domain)},"


def element_type(kind: Record, field: str) -> str | None:
    """The name of the element type in a field; None if the field is absent or its value has no name."""
    dtype = DATA_TYPES.get(getattr(kind, field)) if kind.has(field) else None
    return None if dtype is None else dtype.text


def write_tensor_type(kind: TypeProtoTensor | TypeProtoSparseTensor, style: Style) -> str | None:
    """`float[N, 3]`; None if the element type has no name."""
    name = element_type(kind, "elem_type")
    if name is None or not has_only(kind, "elem_type", "shape"):
        return None
    if kind.shape is None:
        return f"{name}[]"
    if not has_only(kind.shape, "dim"):
        return None
    dims = kind.shape.dim if kind.shape.has("dim") else []
    return f"{name}[{', '.join([write(dim, style) for dim in dims])}]" if dims else name


@register_writer(TensorShapeProtoDimension)
def write_dimension(dim: TensorShapeProtoDimension, style: Style) -> str:
    if dim.has("dim_value"):
        return f"{dim.dim_value}{format_extras(dim, ('dim_value',), style)}"
    text = quote_word(dim.dim_param) if dim.has("dim_param") else "?"
    return text + format_extras(dim, ("dim_param",), style)


@register_writer(ValueInfoProto)
def write_value_info(info: ValueInfoProto, style: Style) -> str | None:
    type_ = write_type(info.type, style) if info.type is not None else ""
    if type_ is None or not info.has("name"):
        return None
    return " ".join(filter(None, (type_, quote_word(info.name)))) + format_extras(
        info, ("type", "name"), style
    )


@register_writer(StringStringEntryProto)
def write_pair(pair: StringStringEntryProto, style: Style) -> str | None:
    if not pair.has("key") or not pair.has("value"):
        return None
    return f"{quote(pair.key)}: {quote(pair.value)}{format_extras(pair, ('key', 'value'), style)}"


@register_writer(OperatorSetIdProto)
def write_opset(opset: OperatorSetIdProto, style: Style) -> str | None:
    if not opset.has("version"):
        return None
    domain = f"{quote(opset.domain)}: " if opset.has("domain") else ""
    return f"{domain}{opset.version}{format_extras(opset, ('domain', 'version'), style)}"

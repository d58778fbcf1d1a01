"""Conversion of value types between records and IR."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InvalidModel
from sardonyx._src.ir.dims import Dim, Expr, from_param
from sardonyx._src.ir.types import (
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    TensorType,
    Type,
)
from sardonyx._src.proto import messages as m


def data_type(number: int, where: str) -> DataType:
    """The element type with a number; raises InvalidModel for an undefined one."""
    try:
        dtype = DataType.from_number(number)
    except ValueError:
        raise InvalidModel(f"the element type must be a defined one; got {number}", location=where) from None
    if dtype is DataType.UNDEFINED:
        raise InvalidModel("the element type must be a defined one; got UNDEFINED", location=where)
    return dtype


def type_from(record: m.TypeProto | None, where: str) -> Type | None:
    """The type of a record; None if the record specifies none."""
    if record is None:
        return None
    kind = record.which("value")
    if kind is None:
        return None
    note = record.denotation
    body = getattr(record, kind)
    if isinstance(body, m.TypeProtoTensor | m.TypeProtoSparseTensor):
        make = TensorType if isinstance(body, m.TypeProtoTensor) else SparseTensorType
        if not body.elem_type:
            return None  # some exporters write this for an unknown type
        dims = denotations(body.shape)
        return make(data_type(body.elem_type, where), shape_from(body.shape, where), note, dims)
    if isinstance(body, m.TypeProtoSequence):
        return SequenceType(type_from(body.elem_type, where), note)
    if isinstance(body, m.TypeProtoOptional):
        return OptionalType(type_from(body.elem_type, where), note)
    if isinstance(body, m.TypeProtoMap):
        return MapType(data_type(body.key_type, where), type_from(body.value_type, where), note)
    assert isinstance(body, m.TypeProtoOpaque), f"{kind} is not a known kind of type"
    return OpaqueType(body.domain, body.name, note)


def shape_from(record: m.TensorShapeProto | None, where: str) -> Shape | None:
    return None if record is None else tuple(dim_from(dim, where) for dim in record.dim)


def dim_from(record: m.TensorShapeProtoDimension, where: str) -> Dim:
    """A size, a variable or expression, or None if unknown; '' and '*' in old files mean unknown."""
    if record.has("dim_value"):
        if record.dim_value < 0:
            return None  # some exporters write -1 for unknown
        return record.dim_value
    return from_param(record.dim_param) if record.dim_param else None


def denotations(record: m.TensorShapeProto | None) -> tuple[str, ...]:
    if record is None:
        return ()
    names = tuple(dim.denotation for dim in record.dim)
    return names if any(names) else ()


def type_to(type: Type | None) -> m.TypeProto:
    """The record of a type."""
    record = m.TypeProto()
    if type is None:
        return record
    match type:
        case TensorType():
            record.tensor_type = m.TypeProtoTensor(elem_type=int(type.dtype))
            set_shape(record.tensor_type, type)
        case SparseTensorType():
            record.sparse_tensor_type = m.TypeProtoSparseTensor(elem_type=int(type.dtype))
            set_shape(record.sparse_tensor_type, type)
        case SequenceType():
            record.sequence_type = m.TypeProtoSequence(elem_type=type_to(type.elem))
        case OptionalType():
            record.optional_type = m.TypeProtoOptional(elem_type=type_to(type.elem))
        case MapType():
            record.map_type = m.TypeProtoMap(key_type=int(type.key), value_type=type_to(type.value))
        case OpaqueType():
            record.opaque_type = m.TypeProtoOpaque(domain=type.domain, name=type.name)
    if type.denotation:
        record.denotation = type.denotation
    return record


def set_shape(
    record: m.TypeProtoTensor | m.TypeProtoSparseTensor, type: TensorType | SparseTensorType
) -> None:
    if type.shape is not None:
        names = type.dim_denotations or ("",) * len(type.shape)
        record.shape = m.TensorShapeProto(dim=[dim_to(d, n) for d, n in zip(type.shape, names, strict=True)])


def dim_to(dim: Dim, denotation: str = "") -> m.TensorShapeProtoDimension:
    record = m.TensorShapeProtoDimension()
    if isinstance(dim, Expr):
        record.dim_param = str(dim)
    elif dim is not None:
        record.dim_value = dim
    if denotation:
        record.denotation = denotation
    return record


def dims_from(dims: Sequence[int], where: str) -> tuple[int, ...]:
    """The dims of a tensor; raises InvalidModel for a negative one and for a product above 2^63 - 1."""
    if any(dim < 0 for dim in dims):
        raise InvalidModel(f"dims must be >= 0; got {brief(dims)}", location=where)
    product = 0 if 0 in dims else 1
    for dim in dims:
        product *= dim
        if product > 0x7FFFFFFFFFFFFFFF:
            raise InvalidModel(
                f"dims must have a product of at most 2^63 - 1; got {brief(dims)}", location=where
            )
    return tuple(dims)


def brief(dims: Sequence[int]) -> str:
    return str(list(dims)) if len(dims) <= 16 else f"[{', '.join(map(str, dims[:16]))}, ...]"

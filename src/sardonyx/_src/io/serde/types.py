"""Conversion of value types between records and IR."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.serde.details import difference
from sardonyx._src.ir import MapType, OptionalType, SequenceType, Shape, SparseTensorType, TensorType, Type
from sardonyx._src.ir.details import SourceDetails
from sardonyx._src.ir.dims import Dim, Expr, from_param, is_placeholder
from sardonyx._src.ir.types import DimPlaceholders, OpaqueType
from sardonyx._src.proto import messages as m

FIRST_IR_WITHOUT_STARS = 4  # before, the dim "*" stands for any number of dims
MAX_RANK = 1024  # far above the rank of any array: NumPy's limit is 64


def data_type(number: int, where: str) -> DataType:
    """The element type with a number; raises InvalidModel for an undefined one."""
    try:
        dtype = DataType.from_number(number)
    except ValueError:
        raise InvalidModel(f"the element type must be a defined one; got {number}", location=where) from None
    if dtype is DataType.UNDEFINED:
        raise InvalidModel("the element type must be a defined one; got UNDEFINED", location=where)
    return dtype


def type_from(
    record: m.TypeProto | None, where: str, ir_version: int = FIRST_IR_WITHOUT_STARS
) -> Type | None:
    """The type of a record; None if the record specifies none.

    ir_version: IR version of the model; up to 3, the dim "*" stands for any number of dims, so that the rank is unknown.
    """
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
        dtype = data_type(body.elem_type, where)
        if body.shape is not None:
            check_rank(len(body.shape.dim), where)
        if ir_version < FIRST_IR_WITHOUT_STARS and has_star(body.shape):
            return make(dtype, None, note, (), written_dims(body.shape))
        return make(dtype, shape_from(body.shape), note, denotations(body.shape), placeholders(body.shape))
    if isinstance(body, m.TypeProtoSequence):
        return SequenceType(type_from(body.elem_type, where, ir_version), note)
    if isinstance(body, m.TypeProtoOptional):
        return OptionalType(type_from(body.elem_type, where, ir_version), note)
    if isinstance(body, m.TypeProtoMap):
        return MapType(data_type(body.key_type, where), type_from(body.value_type, where, ir_version), note)
    assert isinstance(body, m.TypeProtoOpaque), f"{kind} is not a known kind of type"
    return OpaqueType(body.domain, body.name, note)


def check_rank(rank: int, where: str) -> None:
    """Raises InvalidModel for a rank above `MAX_RANK`."""
    if rank > MAX_RANK:
        raise InvalidModel(f"a tensor must have at most {MAX_RANK} dims; got {rank}", location=where)


def shape_from(record: m.TensorShapeProto | None) -> Shape | None:
    return None if record is None else tuple(map(dim_from, record.dim))


def dim_from(record: m.TensorShapeProtoDimension) -> Dim:
    """The size, or the symbolic expression; None for a negative size and for a placeholder such as "?"."""
    if record.has("dim_value"):
        return record.dim_value if record.dim_value >= 0 else None
    return None if is_placeholder(record.dim_param) else from_param(record.dim_param)


def placeholders(record: m.TensorShapeProto | None) -> DimPlaceholders:
    """For each dim, the negative size or the placeholder (as "?") that the record states for an unknown one, else None.

    () if the record states no such thing for any dim.
    """
    dims = (
        () if record is None else tuple(written_dim(d) if dim_from(d) is None else None for d in record.dim)
    )
    return dims if any(dim is not None for dim in dims) else ()


def written_dims(record: m.TensorShapeProto | None) -> DimPlaceholders:
    return () if record is None else tuple(map(written_dim, record.dim))


def written_dim(record: m.TensorShapeProtoDimension) -> str | int | None:
    if record.has("dim_value"):
        return record.dim_value
    return record.dim_param if record.has("dim_param") else None


def has_star(record: m.TensorShapeProto | None) -> bool:
    """Whether a shape has the dim "*"."""
    return record is not None and any(dim.dim_param == "*" for dim in record.dim)


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
    """Sets the shape of a type's record; an unknown dim is written as the placeholder that the file had, if any."""
    if type.shape is None and not type.dim_placeholders:
        return
    written = type.dim_placeholders
    shape = (None,) * len(written) if type.shape is None else type.shape
    record.shape = m.TensorShapeProto(
        dim=[
            dim_to(
                dim,
                type.dim_denotations[i] if i < len(type.dim_denotations) else "",
                written[i] if len(written) == len(shape) else None,
            )
            for i, dim in enumerate(shape)
        ]
    )


def dim_to(
    dim: Dim, denotation: str = "", placeholder: str | int | None = None
) -> m.TensorShapeProtoDimension:
    """The record of a dim.  placeholder: what is written for an unknown dim; None: nothing."""
    record = m.TensorShapeProtoDimension()
    written = placeholder if dim is None else str(dim) if isinstance(dim, Expr) else dim
    if isinstance(written, str):
        record.dim_param = written
    elif written is not None:
        record.dim_value = written
    if denotation:
        record.denotation = denotation
    return record


def type_details(record: m.TypeProto | None) -> SourceDetails | None:
    """The details of a type's record, which the type cannot represent: unknown fields, empty strings, sizes of -1."""
    if record is None or is_plain(record):
        return None
    type = type_from(record, "")
    return difference(record, type_to(type))


def is_plain(record: m.TypeProto) -> bool:
    """Whether the record has only a tensor's element type and dims, each a size >= 0, a name or empty; most are so."""
    tensor = record.__dict__.get("tensor_type")
    if tensor is None or len(record.__dict__) != 1:
        return False
    fields = tensor.__dict__
    shape = fields.get("shape")
    if not fields.get("elem_type") or len(fields) != (1 if shape is None else 2):
        return False
    fields = {} if shape is None else shape.__dict__
    if len(fields) > 1 or "_unknown" in fields:
        return False
    for dim in fields.get("dim", ()):
        sizes = dim.__dict__
        size = sizes.get("dim_value")
        if len(sizes) > 1 or (sizes and (not sizes.get("dim_param") if size is None else size < 0)):
            return False
    return True


def dims_from(dims: Sequence[int], where: str) -> tuple[int, ...]:
    """The dims of a tensor; raises InvalidModel for a negative one, too many, and a product above 2^63 - 1."""
    check_rank(len(dims), where)
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

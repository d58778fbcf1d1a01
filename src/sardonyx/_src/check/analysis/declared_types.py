"""Declared types: whether a tensor fits one, whether two contradict each other, and the rank of a value."""

from __future__ import annotations

from sardonyx._src.check.engine.body import BodyScope
from sardonyx._src.check.records.names import element_type
from sardonyx._src.errors import InferenceError, InvalidModel
from sardonyx._src.infer.merge import merge_types
from sardonyx._src.io.serde.types import type_from
from sardonyx._src.ir.types import with_opaque_domain
from sardonyx._src.proto.messages import (
    FunctionProto,
    GraphProto,
    SparseTensorProto,
    TensorProto,
    TensorShapeProto,
    TensorShapeProtoDimension,
    TypeProto,
    TypeProtoSparseTensor,
    TypeProtoTensor,
)


def describe_misfit(
    type_: TypeProto | None, tensor: TensorProto | SparseTensorProto, *, has_stars: bool = False
) -> str:
    """Why a tensor is not of the type; "" if it is, or if the type is unspecified.

    A sparse tensor is of dense types, too.  has_stars: whether a dimension named "*" means any number of dimensions, as it
    did up to IR version 3.
    """
    if type_ is None or (kind := type_.which("value")) is None:
        return ""
    holder: TypeProtoTensor | TypeProtoSparseTensor | None = type_.tensor_type
    if holder is None and isinstance(tensor, SparseTensorProto):
        holder = type_.sparse_tensor_type
    if holder is None:
        return f"the input is a {kind.removesuffix('_type')}, the initializer a tensor"
    number = element_of(tensor)
    if holder.elem_type and number is not None and holder.elem_type != number:
        return f"the input is {element_type(holder.elem_type)}, the initializer {element_type(number)}"
    if holder.shape is None:
        return ""
    dims = holder.shape.dim
    if has_stars and any(d.dim_param == "*" for d in dims):
        return ""
    fits = len(dims) == len(tensor.dims) and all(
        not d.has("dim_value") or d.dim_value == n for d, n in zip(dims, tensor.dims, strict=True)
    )
    dims_text = [d.dim_value if d.has("dim_value") else d.dim_param or "?" for d in dims]
    return "" if fits else f"the input has the shape {dims_text}, the initializer {list(tensor.dims)}"


def element_of(tensor: TensorProto | SparseTensorProto) -> int | None:
    """The number of the element type; None for a sparse tensor without values."""
    if isinstance(tensor, TensorProto):
        return tensor.data_type
    return tensor.values.data_type if tensor.values is not None else None


def type_of(tensor: TensorProto) -> TypeProto:
    """The type of a tensor's value."""
    dims = [TensorShapeProtoDimension(dim_value=n) for n in tensor.dims]
    inner = TypeProtoTensor(elem_type=tensor.data_type, shape=TensorShapeProto(dim=dims))
    return TypeProto(tensor_type=inner)


def contradiction(declared: TypeProto, own: TypeProto, domain: str) -> str:
    """Why no value is of both types; "" if one may be, or if a type is itself invalid.  domain: of the model."""
    try:
        merge_types(
            with_opaque_domain(type_from(declared, ""), domain),
            with_opaque_domain(type_from(own, ""), domain),
        )
    except InferenceError as error:
        return error.why.replace("inferred", "its own")
    except InvalidModel:
        return ""
    return ""


def rank_of(body: BodyScope | None, name: str) -> int | None:
    """The rank that a body or an enclosing body declares for a value; None if none of them does."""
    while body is not None:
        if body.ranks is None:
            body.ranks = ranks_in(body.record)
        if name in body.ranks:
            return body.ranks[name]
        body = body.outer if body.definition(name) is None else None
    return None


def ranks_in(record: GraphProto | FunctionProto) -> dict[str, int | None]:
    """The declared ranks of the values of a body."""
    result: dict[str, int | None] = {}
    if isinstance(record, GraphProto):
        result |= {tensor.name: len(tensor.dims) for tensor in record.initializer}
    infos = [*record.input, *record.output] if isinstance(record, GraphProto) else []
    for info in (*record.value_info, *infos):
        holder = (info.type.tensor_type or info.type.sparse_tensor_type) if info.type is not None else None
        if holder is not None and holder.shape is not None:
            result[info.name] = len(holder.shape.dim)
    return result

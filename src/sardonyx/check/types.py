"""What declared types say: whether a tensor fits one, and the rank of a value."""

from __future__ import annotations

from sardonyx.check.bodies import Body
from sardonyx.check.names import element_type
from sardonyx.proto.messages import FunctionProto, GraphProto, TensorProto, TypeProto


def misfit(type_: TypeProto | None, tensor: TensorProto) -> str:
    """Why a tensor is no value of the type; "" where it is one, or the type says nothing."""
    if type_ is None or (kind := type_.which("value")) is None:
        return ""
    if type_.tensor_type is None:
        return f"the input is a {kind.removesuffix('_type')}, the initializer a tensor"
    wanted = type_.tensor_type.elem_type
    if wanted and wanted != tensor.data_type:
        return f"the input is {element_type(wanted)}, the initializer {element_type(tensor.data_type)}"
    if type_.tensor_type.shape is None:
        return ""
    dims = type_.tensor_type.shape.dim
    fits = len(dims) == len(tensor.dims) and all(
        not d.has("dim_value") or d.dim_value == n for d, n in zip(dims, tensor.dims, strict=True)
    )
    shown = [d.dim_value if d.has("dim_value") else d.dim_param or "?" for d in dims]
    return "" if fits else f"the input has the shape {shown}, the initializer {list(tensor.dims)}"


def rank_of(body: Body | None, name: str) -> int | None:
    """The rank that a body, or one around it, declares for a value; None where nothing is said."""
    while body is not None:
        if body.ranks is None:
            body.ranks = ranks_in(body.record)
        if name in body.ranks:
            return body.ranks[name]
        body = body.outer if body.own(name) is None else None
    return None


def ranks_in(record: GraphProto | FunctionProto) -> dict[str, int | None]:
    """The ranks of all values whose types a body states."""
    result: dict[str, int | None] = {}
    if isinstance(record, GraphProto):
        result |= {tensor.name: len(tensor.dims) for tensor in record.initializer}
    infos = [*record.input, *record.output] if isinstance(record, GraphProto) else []
    for info in (*record.value_info, *infos):
        holder = (info.type.tensor_type or info.type.sparse_tensor_type) if info.type is not None else None
        if holder is not None and holder.shape is not None:
            result[info.name] = len(holder.shape.dim)
    return result

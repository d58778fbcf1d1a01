"""What declared types say: whether a tensor fits one, and the rank of a value."""

from __future__ import annotations

from sardonyx.check.bodies import Body
from sardonyx.check.names import element_type
from sardonyx.proto.messages import GraphProto, TensorProto, TypeProto


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
        record = body.record
        infos = [*record.input, *record.output] if isinstance(record, GraphProto) else []
        for info in (*infos, *record.value_info):
            if info.name == name and info.type is not None:
                holder = info.type.tensor_type or info.type.sparse_tensor_type
                return len(holder.shape.dim) if holder is not None and holder.shape is not None else None
        if isinstance(record, GraphProto):
            for tensor in record.initializer:
                if tensor.name == name:
                    return len(tensor.dims)
        body = body.outer if body.own(name) is None else None
    return None

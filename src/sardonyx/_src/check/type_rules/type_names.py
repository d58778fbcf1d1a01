"""Types in the notation of operator schemas."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type
from sardonyx._src.ir.types import OpaqueType

MAX_TYPES_IN_MESSAGE = 6  # types that a message lists


def format_type(type_: Type | None) -> str | None:
    """`tensor(float)`, `seq(map(string, int64))`: a type without its shape; None if a part of it is unknown."""
    match type_:
        case TensorType() | SparseTensorType():  # a sparse tensor is a way to store a tensor
            return f"tensor({type_.dtype.text})"
        case SequenceType() | OptionalType():
            inner = format_type(type_.elem)
            kind = "seq" if isinstance(type_, SequenceType) else "optional"
            return None if inner is None else f"{kind}({inner})"
        case MapType():  # schemas write a map of tensors with their element type
            value = (
                type_.value.dtype.text if isinstance(type_.value, TensorType) else format_type(type_.value)
            )
            return None if value is None else f"map({type_.key.text}, {value})"
        case OpaqueType():
            return f"opaque({type_.domain}, {type_.name})"
    return None


def format_types(types: Sequence[str]) -> str:
    """The first of some types, for a message."""
    return ", ".join(types[:MAX_TYPES_IN_MESSAGE]) + (", ..." if len(types) > MAX_TYPES_IN_MESSAGE else "")

"""Types as signatures write them."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir.types import (
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
    Type,
)

MOST = 6  # types named in a message


def spelled(found: Type | None) -> str | None:
    """`tensor(float)`, `seq(map(string, int64))`: a type without its shape; None where a part of it is unknown."""
    match found:
        case TensorType() | SparseTensorType():  # a sparse tensor is a way to store a tensor
            return f"tensor({found.dtype.text})"
        case SequenceType() | OptionalType():
            inner = spelled(found.elem)
            kind = "seq" if isinstance(found, SequenceType) else "optional"
            return None if inner is None else f"{kind}({inner})"
        case MapType():  # of which signatures write the tensor of values as its element type
            value = found.value.dtype.text if isinstance(found.value, TensorType) else spelled(found.value)
            return None if value is None else f"map({found.key.text}, {value})"
        case OpaqueType():
            return f"opaque({found.domain}, {found.name})"
    return None


def listed(types: Sequence[str]) -> str:
    """The first of some types."""
    return ", ".join(types[:MOST]) + (", ..." if len(types) > MOST else "")

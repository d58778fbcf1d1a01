"""Inputs and outputs as onnxruntime describes them: a name, a type such as `tensor(float)`, and a shape."""

from __future__ import annotations

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.types import OpaqueType
from sardonyx._src.runtime.session.session import SessionValue


@dataclass(frozen=True, slots=True)
class NodeArg:
    """An input or output.

    shape: numbers, names of dimension variables, or None for other unknown dims; [] also if the rank is unknown.
    """

    name: str
    type: str
    shape: list[int | str | None]

    @classmethod
    def of(cls, value: SessionValue) -> NodeArg:
        return cls(value.name, type_name(value.type), shape_of(value.type))


def type_name(type: Type | None) -> str:
    """The type in onnxruntime's words, as `seq(map(int64,tensor(float)))`."""
    match type:
        case TensorType():
            return tensor_type_name(type.dtype)
        case SparseTensorType():
            return f"sparse_tensor({type.dtype.text})"
        case SequenceType():
            return f"seq({type_name(type.elem)})"
        case OptionalType():
            return f"optional({type_name(type.elem)})"
        case MapType():
            return f"map({type.key.text},{type_name(type.value)})"
        case OpaqueType():
            return f"opaque({type.domain},{type.name})"
    return ""


def tensor_type_name(dtype: DataType) -> str:
    """The type of a tensor of this element type."""
    return f"tensor({dtype.text})"


def shape_of(type: Type | None) -> list[int | str | None]:
    """The dims of a tensor; a dim that the file leaves unknown is the placeholder that the file writes for it."""
    if not isinstance(type, TensorType | SparseTensorType) or type.shape is None:
        return []
    words = iter(type.dim_placeholders)
    return [next(words, None) if dim is None else describe_dim(dim) for dim in type.shape]


def describe_dim(dim: Dim) -> int | str:
    """A number, or the name of a variable."""
    return dim if isinstance(dim, int) else str(dim)

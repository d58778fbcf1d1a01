"""Types of values (IR.md, "Data types")."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TypeAlias

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim, Expr

Shape: TypeAlias = tuple[Dim, ...]
# One entry for each dim: what the file writes for it if it is unknown, such as "?", else None; () if there is nothing.
# Up to IR version 3, a shape with a "*" has an unknown rank, and all dims of the file are entries.
DimPlaceholders: TypeAlias = "tuple[str | int | None, ...]"


@dataclass(frozen=True, slots=True)
class TensorType:
    """A dense tensor; `shape` None: unknown rank."""

    dtype: DataType
    shape: Shape | None = None
    denotation: str = ""
    dim_denotations: tuple[str, ...] = ()  # one for each dim, or none at all
    dim_placeholders: DimPlaceholders = ()
    _hash: int = field(default=0, init=False, repr=False, compare=False)  # 0 until computed

    def __str__(self) -> str:
        return self.dtype.text + shape_text(self.shape)

    def __hash__(self) -> int:
        """The hash of the fields, cached: inference looks up the same types many times."""
        value = self._hash
        if not value:
            value = (
                hash((self.dtype, self.shape, self.denotation, self.dim_denotations, self.dim_placeholders))
                or 1
            )
            object.__setattr__(self, "_hash", value)
        return value

    def __reduce__(self) -> tuple[type[TensorType], tuple[object, ...]]:
        return TensorType, (
            self.dtype,
            self.shape,
            self.denotation,
            self.dim_denotations,
            self.dim_placeholders,
        )  # without the hash, which differs in another process


@dataclass(frozen=True, slots=True)
class SparseTensorType:
    """A sparse tensor; `shape` is the shape of the equivalent dense tensor."""

    dtype: DataType
    shape: Shape | None = None
    denotation: str = ""
    dim_denotations: tuple[str, ...] = ()
    dim_placeholders: DimPlaceholders = ()

    def __str__(self) -> str:
        return f"sparse_tensor({self.dtype.text}{shape_text(self.shape)})"


@dataclass(frozen=True, slots=True)
class SequenceType:
    """A list of values of one type."""

    elem: Type | None
    denotation: str = ""

    def __str__(self) -> str:
        return f"seq({self.elem or '?'})"


@dataclass(frozen=True, slots=True)
class OptionalType:
    """A value of the element type, or none."""

    elem: Type | None
    denotation: str = ""

    def __str__(self) -> str:
        return f"optional({self.elem or '?'})"


@dataclass(frozen=True, slots=True)
class MapType:
    """A map from integers or strings to values of one type."""

    key: DataType
    value: Type | None
    denotation: str = ""

    def __str__(self) -> str:
        return f"map({self.key.text}, {self.value or '?'})"


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """A type identified only by its domain and its name; the domain "" is the domain of the model."""

    domain: str
    name: str
    denotation: str = ""

    def __str__(self) -> str:
        return f"opaque({self.domain}, {self.name})"


Type: TypeAlias = TensorType | SparseTensorType | SequenceType | OptionalType | MapType | OpaqueType


def merge_opaque_types(a: OpaqueType, b: OpaqueType) -> OpaqueType | None:
    """The type that two opaque types both are, None if they differ; without a domain, a type may have any domain."""
    if a.name != b.name or (a.domain and b.domain and a.domain != b.domain):
        return None
    return OpaqueType(a.domain or b.domain, a.name, a.denotation or b.denotation)


def with_opaque_domain(type: Type | None, domain: str) -> Type | None:
    """The type with the domain of the model for opaque types that state none (onnx.proto, TypeProto.Opaque)."""
    match type:
        case OpaqueType() if not type.domain:
            return replace(type, domain=domain)
        case SequenceType() | OptionalType():
            return replace(type, elem=with_opaque_domain(type.elem, domain))
        case MapType():
            return replace(type, value=with_opaque_domain(type.value, domain))
    return type


def open_element_dims(type: Type | None) -> Type | None:
    """The type with None for symbolic dims of sequence elements: each element has lengths of its own."""
    match type:
        case SequenceType():
            return replace(type, elem=open_element_dims(open_dims(type.elem)))
        case OptionalType():
            return replace(type, elem=open_element_dims(type.elem))
        case MapType():
            return replace(type, value=open_element_dims(type.value))
    return type


def open_dims(type: Type | None, known: frozenset[str] = frozenset()) -> Type | None:
    """A tensor's type with None for every dim that has a variable not in `known`; any other type unchanged."""
    if not isinstance(type, TensorType | SparseTensorType) or type.shape is None:
        return type
    dims = (dim if not isinstance(dim, Expr) or dim.symbols() <= known else None for dim in type.shape)
    return replace(type, shape=tuple(dims))


def symbols_of(type: Type | None) -> frozenset[str]:
    """The variables in the shape of a tensor's type."""
    if not isinstance(type, TensorType | SparseTensorType) or type.shape is None:
        return frozenset()
    return frozenset(name for dim in type.shape if isinstance(dim, Expr) for name in dim.symbols())


def shape_text(shape: Shape | None) -> str:
    """`[N,3,?]` for a shape, `[...]` for an unknown rank, nothing for a scalar."""
    if shape is None:
        return "[...]"
    return "[" + ",".join("?" if dim is None else str(dim) for dim in shape) + "]"

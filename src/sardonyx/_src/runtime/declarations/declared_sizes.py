"""Declared sizes, prepared once in a session in the form in which every run compares them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import NamedTuple, TypeAlias

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type, Value
from sardonyx._src.ir.dims import Dim, Expr
from sardonyx._src.ir.dims.atoms import Symbol, lone_atom
from sardonyx._src.runtime.declarations.shape_policy import Subject

DeclaredDim: TypeAlias = "int | str | Expr | None"  # str: the name of a variable


class ValueLocation(NamedTuple):
    """Where a checked value is in the model: an input, an output, an inner value, or an element of one of these.

    name: the name of the value.
    text: how messages refer to the value.
    key: the same text without indices of elements, so that a session reports a location once for all elements.
    subject: the kind of the value, which decides with the shape policy about mismatches.
    """

    name: str
    text: str
    key: str
    subject: Subject

    def element(self, index: int | str) -> ValueLocation:
        """The location of the element of this sequence at an index, or of the value of this map under a key."""
        subject: Subject = "element" if self.subject == "input" else self.subject
        return ValueLocation(self.name, f"{self.text}[{index!r}]", f"{self.key}[]", subject)


@dataclass(frozen=True, slots=True)
class DeclaredSizes:
    """The ranks and sizes in a type.

    dims: the dims of a tensor.
    elements: the sizes of a sequence's elements, or of a map's values; None for a tensor.
    has_names: whether some dims, dims of elements included, are variables or expressions.
    """

    type: Type
    dims: tuple[DeclaredDim, ...] = ()
    elements: DeclaredSizes | None = None
    has_names: bool = field(init=False)

    def __post_init__(self) -> None:
        has_names = any(isinstance(dim, str | Expr) for dim in self.dims)
        has_names |= self.elements is not None and self.elements.has_names
        object.__setattr__(self, "has_names", has_names)

    @property
    def is_one_element(self) -> bool:
        """Whether this is a tensor of one element, of whatever rank."""
        return self.elements is None and all(dim == 1 for dim in self.dims)


@dataclass(frozen=True, slots=True)
class Declaration:
    """An input or output of a model.  sizes: its declared sizes; None if it declares none."""

    value: Value
    location: ValueLocation
    sizes: DeclaredSizes | None


def sizes_of(type: Type | None) -> DeclaredSizes | None:
    """The ranks and sizes in a type; None if it says nothing about them."""
    match type:
        case TensorType() | SparseTensorType() if type.shape is not None:
            return DeclaredSizes(type, tuple(map(declared_dim, type.shape)))
        case SequenceType():
            elements = sizes_of(type.elem)
            return None if elements is None else DeclaredSizes(type, (), elements)
        case MapType():
            elements = sizes_of(type.value)
            return None if elements is None else DeclaredSizes(type, (), elements)
        case OptionalType():
            return sizes_of(type.elem)
    return None


def declared_dim(dim: Dim) -> DeclaredDim:
    """The dim, or its name if it is a variable."""
    atom = lone_atom(dim) if isinstance(dim, Expr) else None
    return atom.name if isinstance(atom, Symbol) else dim


def declarations_of(values: Iterable[Value], subject: Subject) -> dict[str, Declaration]:
    """The declarations of a model's inputs by name, or, with the subject "result", of its outputs."""
    kind = "output" if subject == "result" else "input"
    result: dict[str, Declaration] = {}
    for value in values:
        where = f"{kind} {value.name!r}"
        result[value.name] = Declaration(
            value, ValueLocation(value.name, where, where, subject), sizes_of(value.type)
        )
    return result

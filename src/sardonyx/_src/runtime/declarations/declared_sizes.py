"""Declared sizes in the form in which every run compares them: prepared once in a session, for each value that has any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from sardonyx._src.ir.dims import Dim, Expr
from sardonyx._src.ir.dims.atoms import Symbol, lone_atom
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type
from sardonyx._src.runtime.declarations.shape_policy import Subject

DeclaredDim: TypeAlias = "int | str | Expr | None"  # str: the name of a variable


class Place(NamedTuple):
    """A value that is checked.  name: of the input or output; text: what messages call it; key: the same without indices."""

    name: str
    text: str
    key: str
    subject: Subject

    def element(self, index: int | str) -> Place:
        """The place of an element of this sequence, or of the value of a key of this map."""
        subject: Subject = "element" if self.subject == "input" else self.subject
        return Place(self.name, f"{self.text}[{index!r}]", f"{self.key}[]", subject)


@dataclass(frozen=True, slots=True)
class DeclaredSizes:
    """What a type says about ranks and sizes.

    dims: of a tensor.  elements: of a sequence, or values of a map; None for a tensor.  has_names: whether some dims, those
    of elements included, are variables or expressions.
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
    """An input or output of a model.  sizes: None if it declares none."""

    value: Value
    place: Place
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
    """The declarations of a model's inputs, or with the subject "result" of its outputs, by name."""
    kind = "output" if subject == "result" else "input"
    result: dict[str, Declaration] = {}
    for value in values:
        where = f"{kind} {value.name!r}"
        result[value.name] = Declaration(
            value, Place(value.name, where, where, subject), sizes_of(value.type)
        )
    return result

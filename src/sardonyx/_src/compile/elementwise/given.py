"""A call of an operator as an elementwise kernel sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sardonyx._src.compile.loops.ir import Apply, Number, Scalar
from sardonyx._src.dtypes import DataType


@dataclass(frozen=True, slots=True)
class Given:
    """What an operator is given; attributes left out have the schema's defaults.

    args: values, `Number`s where a scalar is known beforehand, None for an input left out.  types: theirs.
    """

    attributes: Mapping[str, object]
    args: tuple[Scalar | None, ...]
    types: tuple[DataType | None, ...]

    @property
    def x(self) -> Scalar:
        """The first input."""
        return self.all[0]

    @property
    def all(self) -> tuple[Scalar, ...]:
        """The inputs of an operator of which none is left out."""
        return tuple(arg for arg in self.args if arg is not None)

    @property
    def dtype(self) -> DataType:
        """The element type of the first input."""
        found = self.types[0]
        assert found is not None, "the first input is left out"
        return found

    def optional(self, index: int) -> Scalar | None:
        return self.args[index] if index < len(self.args) else None

    def real(self, name: str) -> Number:
        """An attribute that is a number."""
        value = self.attributes[name]
        assert isinstance(value, int | float), f"{name} is {value!r}"
        return Number(value)


Rule: TypeAlias = Callable[[Given], "Scalar | None"]


def apply(op: str, *args: Scalar | float) -> Apply:
    """An operation on values and numbers."""
    return Apply(op, tuple(Number(a) if isinstance(a, int | float) else a for a in args))


def plain(op: str) -> Rule:
    """An operator that is one operation on its inputs, as they come."""
    return lambda given: Apply(op, given.all)

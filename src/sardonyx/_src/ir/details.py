"""Details of a file that have no meaning in the IR, kept so that an unchanged model is written as it was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from sardonyx._src.ir.graph import Value
    from sardonyx._src.ir.types import Type

Scalar: TypeAlias = str | int | float | bytes | memoryview
Stated: TypeAlias = "Scalar | SourceDetails | tuple[SourceDetails, ...]"


class PartKey(NamedTuple):
    """A message inside a record: a field, and the position or key of the entry if the field is repeated.

    Keys may repeat, as domains do among imports; where one of the entries is kept, it is the last.
    """

    field: str
    entry: int | str = 0
    entries: int = 1  # of the field; a position holds only while their number is the same
    later: int = 0  # entries of the same key that follow


@dataclass(frozen=True, slots=True)
class SourceDetails:
    """What the record of an object states beyond the object itself; writing the object restores it.

    None of it has a meaning, so that an edit of the object cannot contradict it: unknown fields, fields that
    state their default, another spelling of an unknown size or type.  What the object has by then takes precedence,
    and the details of a part, such as a size of a type, are dropped with the part.

    unknown: fields that the schema does not have, each with its tag.
    stated: fields whose values the object leaves out; details stand for whole messages.
    omitted: fields that the record leaves out, where the object would write a default.
    parts: details of messages that are no IR objects of their own.
    """

    unknown: tuple[bytes | memoryview, ...] = ()
    stated: tuple[tuple[str, Stated], ...] = ()
    omitted: tuple[str, ...] = ()
    parts: tuple[tuple[PartKey, SourceDetails], ...] = ()

    def omits(self, field: str) -> bool:
        return field in self.omitted


class Restatement(NamedTuple):
    """A second declaration of a value, which differs from its first one.

    It has the type that it states while the value has the type `read_type` that it was read with, then the value's.
    """

    name: str  # of the value
    stated: Value  # detached: it belongs to no graph
    read_type: Type | None


class Declarations(NamedTuple):
    """The value_info of a graph as its file lists it; entries follow names.

    order: the names of all entries.
    of_nothing: entries of names that the graph does not define, as tools write them for values of functions.
    restated: entries of value_info that differ from the declaration of their value, by name.
    inputs, outputs: entries that differ from the declaration of their value, by position.
    """

    order: tuple[str, ...]
    restated: dict[str, Restatement]
    inputs: dict[int, Restatement]
    outputs: dict[int, Restatement]
    of_nothing: dict[str, Value]

    def rename(self, names: Mapping[str, str]) -> Declarations:
        """The declarations after values have been renamed; names that the map lacks stay."""
        renamed = {name: names.get(name, name) for name in self.order}
        return Declarations(
            tuple(renamed.values()),
            {renamed[name]: other for name, other in self.restated.items()},
            {i: other._replace(name=names.get(other.name, other.name)) for i, other in self.inputs.items()},
            {i: other._replace(name=names.get(other.name, other.name)) for i, other in self.outputs.items()},
            self.of_nothing,
        )


def unknown_fields(details: SourceDetails | None) -> tuple[bytes, ...]:
    """The unknown fields of an object itself, without those of its parts."""
    return () if details is None else tuple(bytes(field) for field in details.unknown)

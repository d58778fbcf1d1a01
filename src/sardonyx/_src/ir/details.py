"""Details of a file that have no meaning in the IR, kept so that an unchanged model is written as it was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sardonyx._src.dataclass import dataclass

if TYPE_CHECKING:
    from sardonyx._src.ir.graph import Value
    from sardonyx._src.ir.types import Type

Scalar: TypeAlias = str | int | float | bytes | memoryview
Stated: TypeAlias = "Scalar | SourceDetails | tuple[SourceDetails, ...]"


class PartKey(NamedTuple):
    """A message inside a record: a field, and the position or key of the entry if the field is repeated.

    Keys may repeat, as domains do among imports; if the object keeps only one of these entries, it is the last.

    field: the name of the field.
    entry: the position or the key of the entry.
    entries: the number of entries; a position is valid only as long as this number is unchanged.
    later: the number of later entries with the same key.
    """

    field: str
    entry: int | str = 0
    entries: int = 1
    later: int = 0


@dataclass(frozen=True, slots=True)
class SourceDetails:
    """The parts of an object's record that the object itself does not represent; they are restored on writing.

    They have no meaning: unknown fields, fields that state their default, another spelling of an unknown size or type.
    So an edit of the object cannot contradict them.  A field that the object has when it is written takes precedence over
    its details; the details of a part, such as a size of a type, are dropped with the part.

    unknown: fields that the schema does not have, each with its tag.
    stated: fields with values that writing the object would leave out; a whole message is represented by its details.
    omitted: fields that the record leaves out, where writing the object would state a default.
    parts: details of inner messages that are no IR objects of their own.
    """

    unknown: tuple[bytes | memoryview, ...] = ()
    stated: tuple[tuple[str, Stated], ...] = ()
    omitted: tuple[str, ...] = ()
    parts: tuple[tuple[PartKey, SourceDetails], ...] = ()

    def omits(self, field: str) -> bool:
        return field in self.omitted


class Restatement(NamedTuple):
    """A second declaration of a value, which differs from its first one.

    It is written with its own type while the value has `read_type`, the type that it had when the file was read.  Once the
    value has another type, the declaration is written with the value's.
    """

    name: str  # the name of the value
    stated: Value  # what the entry declares, as a value that belongs to no graph
    read_type: Type | None

    def rename(self, names: Mapping[str, str]) -> Restatement:
        return self._replace(name=names.get(self.name, self.name))


class Declarations(NamedTuple):
    """The value_info of a graph as its file lists it; values are identified by name.

    order: the names of all entries, also of the undefined ones.
    restated: entries of value_info that differ from the declaration of their value, by name.
    inputs, outputs: entries of inputs and outputs that differ from the declaration of their value, by position.
    undefined: entries of names that the graph does not define, as tools write them for values inside functions.
    """

    order: tuple[str, ...]
    restated: dict[str, Restatement]
    inputs: dict[int, Restatement]
    outputs: dict[int, Restatement]
    undefined: dict[str, Value]

    def rename(self, names: Mapping[str, str]) -> Declarations:
        """The declarations after values of the graph have been renamed: new names by old ones; other names stay.

        Undefined names stay, too: they name no value of the graph.
        """
        return Declarations(
            tuple(names.get(name, name) for name in self.order),
            {names.get(name, name): other.rename(names) for name, other in self.restated.items()},
            {i: other.rename(names) for i, other in self.inputs.items()},
            {i: other.rename(names) for i, other in self.outputs.items()},
            self.undefined,
        )


def unknown_fields(details: SourceDetails | None) -> tuple[bytes, ...]:
    """The unknown fields of an object itself, without those of its parts."""
    return () if details is None else tuple(bytes(field) for field in details.unknown)

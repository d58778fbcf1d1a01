"""Records: objects in the shape of protobuf messages, which can represent invalid models too.

A field that was never set is absent: `has` is false, and reading it gives the default of its kind ("" or 0, None
for a message, an empty list that becomes the value of the field).  Bytes of a string that are not UTF-8 are
represented by surrogate escapes, so that they are preserved and can be reported.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterable, Iterator, Sized
from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar, cast, overload

import numpy as np

from sardonyx._src.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = Literal["string", "bytes", "float", "double", "int32", "int64", "uint64", "enum", "message"]
Number = TypeVar("Number", int, float)
Numbers: TypeAlias = "list[Number] | NDArray[np.generic]"  # long packed fields are arrays
Payload: TypeAlias = bytes | memoryview
# The class of a record and the names of its set fields.
FieldSet: TypeAlias = "tuple[type[Record], tuple[str, ...]]"
RecordT = TypeVar("RecordT", bound="Record")
FieldValue = TypeVar("FieldValue")

RANGES = {  # the values of integer kinds
    "int32": range(-(1 << 31), 1 << 31),
    "enum": range(-(1 << 31), 1 << 31),
    "int64": range(-(1 << 63), 1 << 63),
    "uint64": range(1 << 64),
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message, as `onnx.proto` declares it."""

    name: str
    number: int
    kind: Kind
    repeated: bool
    packed: bool
    oneof: str
    message: type[Record] | None
    enum: type[enum.IntEnum] | None = None

    @property
    def tags(self) -> tuple[int, ...]:
        """The tags under which the field may be encoded: the tag of a single value and, if it exists, of packed values."""
        wire = {"float": 5, "double": 1}.get(self.kind, 0 if self.kind in RANGES else 2)
        single, packed = self.number << 3 | wire, self.number << 3 | 2
        return (single, packed) if self.repeated and wire != 2 else (single,)


class RepeatedField(Generic[FieldValue]):
    """Descriptor of a repeated field: reading an absent field sets it to an empty list."""

    def __set_name__(self, message: type[Record], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, record: None, message: type[Record]) -> Self: ...
    @overload
    def __get__(self, record: Record, message: type[Record]) -> FieldValue: ...
    def __get__(self, record: Record | None, message: type[Record]) -> Self | FieldValue:
        if record is None:
            return self
        return cast(FieldValue, record.__dict__.setdefault(self.name, []))


class Record:
    """Base class of all messages; the instance attributes are the fields that are set."""

    FIELDS: ClassVar[tuple[Field, ...]] = ()  # in field-number order
    BY_NAME: ClassVar[dict[str, Field]] = {}
    NESTS: ClassVar[bool] = False  # whether the nesting limit counts this message
    _unknown: list[Payload]

    def __init__(self, **fields: object) -> None:
        """Sets the fields given by name; setting a member of a oneof clears the others."""
        for name, value in fields.items():
            if name not in self.BY_NAME:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
            self.set(name, value)

    @property
    def unknown(self) -> list[Payload]:
        """Fields that the message does not declare, each with its tag, in the order in which they were read."""
        return self._unknown if self.has("_unknown") else []

    def add_unknown(self, field: Payload) -> None:
        """Adds an unknown field: the bytes of its tag and value."""
        self.add_unknown_fields([field])

    def add_unknown_fields(self, fields: Iterable[Payload]) -> None:
        """Adds unknown fields in the given order."""
        self.__dict__.setdefault("_unknown", []).extend(fields)

    def has(self, name: str) -> bool:
        """Whether the field is set, possibly to its default or to an empty list; None means absent."""
        return self.__dict__.get(name) is not None

    def set(self, name: str, value: object) -> None:
        """Sets a field; setting a member of a oneof clears the others."""
        setattr(self, name, value)
        if group := self.BY_NAME[name].oneof:
            self.choose(group, name)

    def clear(self, name: str) -> None:
        self.__dict__.pop(name, None)

    def choose(self, oneof: str, name: str) -> None:
        """Clears every member of the oneof except `name`."""
        for field in self.FIELDS:
            if field.oneof == oneof and field.name != name:
                self.clear(field.name)

    def which(self, oneof: str) -> str | None:
        """The name of the member of the oneof that is set, or None."""
        return next((f.name for f in self.FIELDS if f.oneof == oneof and self.has(f.name)), None)

    def present(self) -> Iterator[tuple[Field, object]]:
        """The fields that are set and their values, in field-number order; empty lists are skipped.

        Raises AttributeError for an attribute that is not a field.
        """
        values = self.__dict__
        for field in fields_in_order((type(self), tuple(values))):
            value = values[field.name]
            if value is not None and not (field.repeated and is_empty(value)):
                yield field, value

    def __eq__(self, other: object) -> bool:  # records are mutable, hence not hashable
        return same(self, other) if isinstance(other, Record) else NotImplemented

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{f.name}={brief(v)}' for f, v in self.present())})"


def seal(message: type[Record], fields: tuple[Field, ...], nests: bool = False) -> None:
    """Sets the field tables of a message class, after the classes to which its fields refer were defined."""
    message.FIELDS = fields
    message.BY_NAME = {f.name: f for f in fields}
    message.NESTS = nests


# Records of one class have few different sets of fields; the bound protects against files that use very many.
@lru_cache(maxsize=4096)
def fields_in_order(field_set: FieldSet) -> tuple[Field, ...]:
    """The fields that are set, in field-number order; raises AttributeError for a name that is not a field."""
    message, names = field_set
    for name in names:
        if name not in message.BY_NAME and name != "_unknown":
            raise AttributeError(f"{message.__name__} has no field {name!r}, but the attribute was set")
    return tuple(f for f in message.FIELDS if f.name in names)


def merge(old: RecordT | None, new: RecordT) -> RecordT:
    """`new` merged into `old`: protobuf's semantics for a message field that occurs several times."""
    if old is None:
        return new
    for field, value in new.present():
        mine = getattr(old, field.name)
        if field.repeated:
            old.set(field.name, concat(mine, cast("Numbers[int]", value)))
        elif isinstance(value, Record):
            old.set(field.name, merge(cast("Record | None", mine), value))
        else:
            old.set(field.name, value)
    if new.has("_unknown"):
        old.add_unknown_fields(new.unknown)
    return old


def without_unknown(record: RecordT) -> RecordT:
    """A copy without unknown fields, which shares its payloads and numbers with the record."""
    result = type(record)()
    for name, value in record.__dict__.items():
        if isinstance(value, Record):
            result.__dict__[name] = without_unknown(value)
        elif isinstance(value, list) and name != "_unknown":
            result.__dict__[name] = [without_unknown(v) if isinstance(v, Record) else v for v in value]
        elif name != "_unknown":
            result.__dict__[name] = value
    return result


def concat(old: Numbers[Number] | None, new: Numbers[Number]) -> Numbers[Number]:
    """The concatenation of two parts of a repeated field; may modify `old`."""
    if old is None or len(old) == 0:
        return new
    return extend_list(old if isinstance(old, list) else cast("list[Number]", old.tolist()), new)


def extend_list(old: list[Number] | None, new: Numbers[Number]) -> list[Number]:
    """As `concat`, for a field that is always a list."""
    values = new if isinstance(new, list) else cast("list[Number]", new.tolist())
    if old is None:
        return values
    old.extend(values)
    return old


def is_empty(value: object) -> bool:
    return isinstance(value, Sized) and len(value) == 0


def same(a: Record, b: Record) -> bool:
    """Whether two records have one type and equal fields; iterative, so any depth of nesting is fine."""
    pairs: list[tuple[object, object]] = [(a, b)]
    while pairs:
        a_value, b_value = pairs.pop()
        if isinstance(a_value, Record) and isinstance(b_value, Record):
            mine, theirs = dict(fields_of(a_value)), dict(fields_of(b_value))
            if type(a_value) is not type(b_value) or mine.keys() != theirs.keys():
                return False
            pairs += [(value, theirs[name]) for name, value in mine.items()]
        elif isinstance(a_value, list) and isinstance(b_value, list):
            if len(a_value) != len(b_value):
                return False
            pairs += zip(a_value, b_value, strict=True)
        elif not equal(a_value, b_value):
            return False
    return True


def fields_of(record: Record) -> Iterator[tuple[str, object]]:
    for field, value in record.present():
        yield field.name, value
    if unknown := record.unknown:
        yield "_unknown", unknown


def equal(a: object, b: object) -> bool:
    """Whether two scalars or arrays are equal; NaN equals NaN, bytes and views compare by content."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f")
    if isinstance(a, float) and isinstance(b, float) and a != a:
        return b != b
    return a == b


def value_error(field: Field, value: object) -> str:
    """The error message for a value that no format can represent as this field; "" if it is valid."""
    if field.kind == "string":
        fits = isinstance(value, str)
        if fits and not is_encodable(cast(str, value)):
            return f"a surrogate in a string must be the escape of a byte; got {brief(value)}"
    elif field.kind == "bytes":
        fits = isinstance(value, bytes | bytearray | memoryview)
        if isinstance(value, memoryview) and not value.c_contiguous:
            return "the value must be contiguous bytes; got a strided memoryview"
    elif field.kind == "message":
        fits = type(value) is field.message
    elif field.kind in ("float", "double"):
        fits = isinstance(value, int | float | np.integer | np.floating)
    else:
        fits = isinstance(value, int | np.integer)
    if not fits:
        expected = field.message.__name__ if field.message else field.kind
        actual = type(value).__name__ + ("" if isinstance(value, Record) else f" {brief(value)}")
        return f"the value must be {expected}; got {actual}"
    return number_error(field, value) if isinstance(value, int | float | np.number) else ""


def is_encodable(text: str) -> bool:
    """Whether the text is valid Unicode, apart from surrogate escapes of single bytes."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def number_error(field: Field, value: int | float | np.number) -> str:
    if field.kind not in ("float", "double"):
        return (
            ""
            if index(cast(int, value)) in RANGES[field.kind]
            else f"the value must fit in {field.kind}; got {value}"
        )
    try:
        struct.pack("<f" if field.kind == "float" else "<d", value)
    except (OverflowError, struct.error):
        return f"the value must fit in {field.kind}; got {value}"
    return ""


def brief(value: object) -> str:
    """A `repr` that is short for long payloads, strings and lists too."""
    if isinstance(value, memoryview | bytes) and len(value) > 32:
        return f"<{len(value)} bytes>"
    if isinstance(value, list | np.ndarray) and len(value) > 8:
        return f"<{len(value)} entries>"
    if isinstance(value, str) and len(value) > 64:
        return f"<{len(value)} characters>"
    return repr(value)

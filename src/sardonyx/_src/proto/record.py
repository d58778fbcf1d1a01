"""Records: objects shaped like protobuf messages, which can hold any wrong model.

A field that was never set is absent: `has` tells, and reading it gives the default of its kind (an empty list,
which is then the field's; "" or 0; None for a message).  Strings whose bytes are not UTF-8 hold surrogate
escapes, so that they survive and can be reported.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass
from functools import lru_cache
from operator import index
from typing import ClassVar, Generic, Literal, Self, TypeAlias, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

Kind = Literal["string", "bytes", "float", "double", "int32", "int64", "uint64", "enum", "message"]
Number = TypeVar("Number", int, float)
Numbers: TypeAlias = list[Number] | NDArray[np.generic]  # an array where a packed field is long
Payload: TypeAlias = bytes | memoryview
Shape: TypeAlias = "tuple[type[Record], tuple[str, ...]]"  # a message and the names of all that is set in it
R = TypeVar("R", bound="Record")
T = TypeVar("T")

RANGES = {  # of the kinds that are integers
    "int32": range(-(1 << 31), 1 << 31),
    "enum": range(-(1 << 31), 1 << 31),
    "int64": range(-(1 << 63), 1 << 63),
    "uint64": range(1 << 64),
}


@dataclass(frozen=True, slots=True)
class Field:
    """A row of a message's table, as `onnx.proto` has it."""

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
        """The tags with which the field may come: one value at a time, and all at once if it can be packed."""
        wire = {"float": 5, "double": 1}.get(self.kind, 0 if self.kind in RANGES else 2)
        one, all_at_once = self.number << 3 | wire, self.number << 3 | 2
        return (one, all_at_once) if self.repeated and wire != 2 else (one,)


class Repeated(Generic[T]):
    """A repeated field in its class: reading it while it is absent gives it an empty list."""

    def __set_name__(self, message: type[Record], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, record: None, message: type[Record]) -> Self: ...
    @overload
    def __get__(self, record: Record, message: type[Record]) -> T: ...
    def __get__(self, record: Record | None, message: type[Record]) -> Self | T:
        if record is None:
            return self
        return cast(T, record.__dict__.setdefault(self.name, []))


class Record:
    """The base of all messages; its attributes are the fields that are set."""

    FIELDS: ClassVar[tuple[Field, ...]] = ()  # in the order of their numbers
    BY_NAME: ClassVar[dict[str, Field]] = {}
    NESTS: ClassVar[bool] = False  # whether a limit on nesting counts this message
    _unknown: list[Payload]

    def __init__(self, **fields: object) -> None:
        """Sets the fields given by name; a field of a oneof clears its siblings."""
        for name, value in fields.items():
            if name not in self.BY_NAME:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
            self.set(name, value)

    @property
    def unknown(self) -> list[Payload]:
        """Fields that the table lacks, each with its tag, in the order in which they were read."""
        return self._unknown if self.has("_unknown") else []

    def keep(self, field: Payload) -> None:
        """Adds an unknown field: its tag and value as they stand in the file."""
        self.keep_all([field])

    def keep_all(self, fields: Iterable[Payload]) -> None:
        """Adds unknown fields, in this order."""
        self.__dict__.setdefault("_unknown", []).extend(fields)

    def has(self, name: str) -> bool:
        """Whether the field was set, if only to its default or to an empty list; None counts as not set."""
        return self.__dict__.get(name) is not None

    def set(self, name: str, value: object) -> None:
        """Sets a field; a member of a oneof clears the others."""
        setattr(self, name, value)
        if group := self.BY_NAME[name].oneof:
            self.choose(group, name)

    def clear(self, name: str) -> None:
        self.__dict__.pop(name, None)

    def choose(self, oneof: str, name: str) -> None:
        """Clears every member of the oneof but `name`."""
        for field in self.FIELDS:
            if field.oneof == oneof and field.name != name:
                self.clear(field.name)

    def which(self, oneof: str) -> str | None:
        """The name of the member of the oneof that is set."""
        return next((f.name for f in self.FIELDS if f.oneof == oneof and self.has(f.name)), None)

    def present(self) -> Iterator[tuple[Field, object]]:
        """Field and value of all that is set, in the order of field numbers; empty lists are left out.

        Raises AttributeError for an attribute that is no field.
        """
        values = self.__dict__
        for field in ordered((type(self), tuple(values))):
            value = values[field.name]
            if value is not None and not (field.repeated and is_empty(value)):
                yield field, value

    def __eq__(self, other: object) -> bool:  # records change, so there is no hash
        return same(self, other) if isinstance(other, Record) else NotImplemented

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{f.name}={brief(v)}' for f, v in self.present())})"


def seal(message: type[Record], fields: tuple[Field, ...], nests: bool = False) -> None:
    """Gives a message class its table."""
    message.FIELDS = fields
    message.BY_NAME = {f.name: f for f in fields}
    message.NESTS = nests


# Records of a kind come in few shapes; a file of many must not fill the memory with them.
@lru_cache(maxsize=4096)
def ordered(shape: Shape) -> tuple[Field, ...]:
    """The fields that are set, in the order of their numbers; AttributeError when a name is no field."""
    message, names = shape
    for name in names:
        if name not in message.BY_NAME and name != "_unknown":
            raise AttributeError(f"{message.__name__} has no field {name!r}, but the attribute was set")
    return tuple(f for f in message.FIELDS if f.name in names)


def merged(old: R | None, new: R) -> R:
    """`new` merged into `old`, as protobuf does with a message that comes in several parts."""
    if old is None:
        return new
    for field, value in new.present():
        mine = getattr(old, field.name)
        if field.repeated:
            old.set(field.name, joined(mine, cast("Numbers[int]", value)))
        elif isinstance(value, Record):
            old.set(field.name, merged(cast("Record | None", mine), value))
        else:
            old.set(field.name, value)
    if new.has("_unknown"):
        old.keep_all(new.unknown)
    return old


def joined(old: Numbers[Number] | None, new: Numbers[Number]) -> Numbers[Number]:
    """A repeated field that comes in several parts; `old` is used up."""
    if old is None or len(old) == 0:
        return new
    return extended(old if isinstance(old, list) else cast("list[Number]", old.tolist()), new)


def extended(old: list[Number] | None, new: Numbers[Number]) -> list[Number]:
    """As `joined`, for a field that is always a list."""
    values = new if isinstance(new, list) else cast("list[Number]", new.tolist())
    if old is None:
        return values
    old.extend(values)
    return old


def is_empty(value: object) -> bool:
    return isinstance(value, Sized) and len(value) == 0


def same(a: Record, b: Record) -> bool:
    """Whether two records are of one kind and hold the same; however deep they are."""
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
    """Whether two scalars or arrays are the same; NaN equals NaN, bytes and views compare by content."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f")
    if isinstance(a, float) and isinstance(b, float) and a != a:
        return b != b
    return a == b


def flaw(field: Field, value: object) -> str:
    """Why one value of the field cannot be written in any form; "" when it can."""
    if field.kind == "string":
        fits = isinstance(value, str)
        if fits and not is_encodable(cast(str, value)):
            return f"{brief(value)} holds surrogates that stand for no byte"
    elif field.kind == "bytes":
        fits = isinstance(value, bytes | bytearray | memoryview)
        if isinstance(value, memoryview) and not value.c_contiguous:
            return "a view of scattered bytes stands where bytes in one piece are wanted"
    elif field.kind == "message":
        fits = type(value) is field.message
    elif field.kind in ("float", "double"):
        fits = isinstance(value, int | float | np.integer | np.floating)
    else:
        fits = isinstance(value, int | np.integer)
    if not fits:
        wanted = field.message.__name__ if field.message else field.kind
        found = type(value).__name__ + ("" if isinstance(value, Record) else f" {brief(value)}")
        return f"{found} stands where {wanted} is wanted"
    return flaw_of_number(field, value) if isinstance(value, int | float | np.number) else ""


def is_encodable(text: str) -> bool:
    """Whether the text is Unicode, apart from the escapes of single bytes."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def flaw_of_number(field: Field, value: int | float | np.number) -> str:
    if field.kind not in ("float", "double"):
        return "" if index(cast(int, value)) in RANGES[field.kind] else f"{value} does not fit {field.kind}"
    try:
        struct.pack("<f" if field.kind == "float" else "<d", value)
    except (OverflowError, struct.error):
        return f"{value} does not fit {field.kind}"
    return ""


def brief(value: object) -> str:
    """A representation that stays short for long payloads and lists."""
    if isinstance(value, memoryview | bytes) and len(value) > 32:
        return f"<{len(value)} bytes>"
    if isinstance(value, list | np.ndarray) and len(value) > 8:
        return f"<{len(value)} entries>"
    if isinstance(value, str) and len(value) > 64:
        return f"<{len(value)} characters>"
    return repr(value)

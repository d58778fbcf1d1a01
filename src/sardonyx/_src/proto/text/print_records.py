"""Writes any record: in the notation of its own where that can say it, else as `{field: value, …}`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar, cast

from sardonyx._src.proto.record import Field, Numbers, Payload, Record
from sardonyx._src.proto.text.numbers import FORMATS, float_texts
from sardonyx._src.proto.text.words import ENUM_NAMES, bytes_literal, quoted

WIDTH = 100  # characters; a list that would be longer has each item on a line of its own


@dataclass(frozen=True, slots=True)
class Style:
    """How to write: how many entries of a list of numbers or strings at most, and behind what margin."""

    max_elements: int | None = None
    margin: str = ""

    def deeper(self) -> Style:
        return replace(self, margin=self.margin + "  ")


R = TypeVar("R", bound=Record)
T = TypeVar("T")
Writer: TypeAlias = Callable[[R, Style], str | None]
WRITERS: dict[type[Record], Writer[Record]] = {}  # of the messages that have a notation of their own


def writes(message: type[R]) -> Callable[[Writer[R]], Writer[R]]:
    """Registers the writer of a message's own notation, which returns None for a record it cannot say."""

    def register(writer: Writer[R]) -> Writer[R]:
        WRITERS[message] = cast("Writer[Record]", writer)
        return writer

    return register


def write(record: Record, style: Style) -> str:
    writer = WRITERS.get(type(record))
    text = writer(record, style) if writer is not None else None
    return write_fields(record, style) if text is None else text


def write_fields(record: Record, style: Style) -> str:
    return listing("{", written_fields(record, style.deeper()), "}", style)


def extras(record: Record, said: Collection[str], style: Style) -> str:
    """` @{field: value, …}` with all that a record's own notation has not said, or nothing."""
    fields = written_fields(record, style.deeper(), said)
    return " " + listing("@{", fields, "}", style) if fields else ""


def only(record: Record, *fields: str) -> bool:
    """Whether no other field is set."""
    return not record.unknown and all(field.name in fields for field, _ in record.present())


def listed(record: Record, name: str, of: type[T]) -> list[T]:
    """A repeated field, which stays absent where it is."""
    return cast("list[T]", getattr(record, name)) if record.has(name) else []


def listing(opening: str, items: Sequence[str], closing: str, style: Style) -> str:
    """The items, which were written behind a deeper margin, in one line if they fit."""
    long = sum(map(len, items)) + 2 * len(items) > WIDTH or any("\n" in item for item in items)
    if not long or not items:
        return opening + ", ".join(items) + closing
    inner = style.deeper().margin
    return opening + "\n" + ",\n".join(inner + item for item in items) + "\n" + style.margin + closing


def written_fields(record: Record, style: Style, said: Collection[str] = ()) -> list[str]:
    """`field: value` for each field that is set and not yet said."""
    fields = [
        f"{field.name}: {written_value(field, value, type(record), style)}"
        for field, value in record.present()
        if field.name not in said
    ]
    if record.unknown:
        fields.append("unknown: [" + ", ".join(f'hex "{bytes(x).hex()}"' for x in record.unknown) + "]")
    return fields


def written_value(field: Field, value: object, message: type[Record], style: Style) -> str:
    if not field.repeated:
        return written_one(field, value, message, style)
    if field.kind == "message":
        deeper = style.deeper()
        return listing("[", [write(one, deeper) for one in cast("list[Record]", value)], "]", style)
    if field.kind in ("string", "bytes"):
        return f"[{written_strings(cast('list[str | Payload]', value), style)}]"
    return f"[{written_numbers(cast('Numbers[int]', value), field.kind, style)}]"


def written_one(field: Field, value: object, message: type[Record], style: Style) -> str:
    if isinstance(value, Record):
        return write(value, style)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bytes | memoryview):
        return bytes_literal(value)
    if field.kind in FORMATS:
        return float_texts([cast(float, value)], field.kind)[0]
    number = cast(int, value)
    return ENUM_NAMES.get((message, field.name), {}).get(number) or str(int(number))


def written_strings(values: Sequence[str | Payload], style: Style) -> str:
    some = values[: style.max_elements]
    return elided([quoted(x) if isinstance(x, str) else bytes_literal(x) for x in some], len(values))


def written_numbers(values: Numbers[int] | Numbers[float], kind: str, style: Style) -> str:
    some = values[: style.max_elements]
    if kind in FORMATS:
        return elided(float_texts(cast("Numbers[float]", some), kind), len(values))
    return elided([str(int(x)) for x in some], len(values))


def elided(shown: list[str], count: int) -> str:
    """The texts shown, and three dots where there are more."""
    return ", ".join(shown if len(shown) == count else [*shown, "..."])

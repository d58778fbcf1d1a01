"""Printer of any record: in the notation of its message if that can represent it, else as `{field: value, …}`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar, cast

from sardonyx._src.dataclass import dataclass
from sardonyx._src.proto.record import Field, Numbers, Payload, Record
from sardonyx._src.proto.text.numbers import FLOAT_FORMATS, float_literals
from sardonyx._src.proto.text.words import ENUM_NAMES, bytes_literal, quote

WIDTH = 100  # characters of a list on one line; a longer list is printed with one item per line


@dataclass(frozen=True, slots=True)
class Style:
    """Print options: the maximum number of printed entries of a list of scalars, and the margin of new lines."""

    max_elements: int | None = None
    margin: str = ""

    def deeper(self) -> Style:
        return replace(self, margin=self.margin + "  ")


RecordT = TypeVar("RecordT", bound=Record)
Item = TypeVar("Item")
RecordWriter: TypeAlias = Callable[[RecordT, Style], str | None]
# By message, for messages with their own notation.
RECORD_WRITERS: dict[type[Record], RecordWriter[Record]] = {}


def register_writer(message: type[RecordT]) -> Callable[[RecordWriter[RecordT]], RecordWriter[RecordT]]:
    """Registers the printer of the notation of a message; it returns None for a record it cannot represent."""

    def register(writer: RecordWriter[RecordT]) -> RecordWriter[RecordT]:
        RECORD_WRITERS[message] = cast("RecordWriter[Record]", writer)
        return writer

    return register


def write(record: Record, style: Style) -> str:
    """The text of a record, in the notation of its message or as `{field: value, …}`."""
    writer = RECORD_WRITERS.get(type(record))
    text = writer(record, style) if writer is not None else None
    return write_fields(record, style) if text is None else text


def write_fields(record: Record, style: Style) -> str:
    return format_list("{", format_fields(record, style.deeper()), "}", style)


def format_extras(record: Record, printed_fields: Collection[str], style: Style) -> str:
    """` @{field: value, …}` with the fields that the notation did not print, or ""."""
    fields = format_fields(record, style.deeper(), printed_fields)
    return " " + format_list("@{", fields, "}", style) if fields else ""


def has_only(record: Record, *fields: str) -> bool:
    """Whether the record has no fields other than these."""
    return not record.unknown and all(field.name in fields for field, _ in record.present())


def repeated_values(record: Record, name: str, of: type[Item]) -> list[Item]:
    """The value of a repeated field; reading it this way does not set an absent field."""
    return cast("list[Item]", getattr(record, name)) if record.has(name) else []


def format_list(opening: str, items: Sequence[str], closing: str, style: Style) -> str:
    """The items, printed with a deeper margin, on one line if they fit."""
    long = sum(map(len, items)) + 2 * len(items) > WIDTH or any("\n" in item for item in items)
    if not long or not items:
        return opening + ", ".join(items) + closing
    inner = style.deeper().margin
    return opening + "\n" + ",\n".join(inner + item for item in items) + "\n" + style.margin + closing


def format_fields(record: Record, style: Style, printed_fields: Collection[str] = ()) -> list[str]:
    """`field: value` for each field that is set and not in `printed_fields`."""
    fields = [
        f"{field.name}: {format_value(field, value, type(record), style)}"
        for field, value in record.present()
        if field.name not in printed_fields
    ]
    if record.unknown:
        fields.append("unknown: [" + ", ".join(f'hex "{bytes(x).hex()}"' for x in record.unknown) + "]")
    return fields


def format_value(field: Field, value: object, message: type[Record], style: Style) -> str:
    """The text of a field of a message: one value, or a list in brackets."""
    if not field.repeated:
        return format_scalar(field, value, message, style)
    if field.kind == "message":
        deeper = style.deeper()
        return format_list("[", [write(item, deeper) for item in cast("list[Record]", value)], "]", style)
    if field.kind in ("string", "bytes"):
        return f"[{format_strings(cast('list[str | Payload]', value), style)}]"
    return f"[{format_numbers(cast('Numbers[int]', value), field.kind, style)}]"


def format_scalar(field: Field, value: object, message: type[Record], style: Style) -> str:
    if isinstance(value, Record):
        return write(value, style)
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bytes | memoryview):
        return bytes_literal(value)
    if field.kind in FLOAT_FORMATS:
        return float_literals([cast(float, value)], field.kind)[0]
    number = cast(int, value)
    return ENUM_NAMES.get((message, field.name), {}).get(number) or str(int(number))


def format_strings(values: Sequence[str | Payload], style: Style) -> str:
    some = values[: style.max_elements]
    return join_with_ellipsis(
        [quote(x) if isinstance(x, str) else bytes_literal(x) for x in some], len(values)
    )


def format_numbers(values: Numbers[int] | Numbers[float], kind: str, style: Style) -> str:
    some = values[: style.max_elements]
    if kind in FLOAT_FORMATS:
        return join_with_ellipsis(float_literals(cast("Numbers[float]", some), kind), len(values))
    return join_with_ellipsis([str(int(x)) for x in some], len(values))


def join_with_ellipsis(shown: list[str], count: int) -> str:
    """The shown entries, followed by `...` if there are more."""
    return ", ".join(shown if len(shown) == count else [*shown, "..."])

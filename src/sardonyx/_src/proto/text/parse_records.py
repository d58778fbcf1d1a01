"""Parser of any record: in the notation of its message, or as `{field: value, …}`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Container
from typing import TypeAlias, TypeVar, cast

from sardonyx._src.proto.messages import GraphProto, MapProto, OptionalProto, SequenceProto, TypeProto
from sardonyx._src.proto.record import Field, Record
from sardonyx._src.proto.text.lexer import Lexer
from sardonyx._src.proto.text.words import ENUMS, unquote_bytes

RecordT = TypeVar("RecordT", bound=Record)
RecordReader: TypeAlias = Callable[[Lexer], RecordT]
# By message, for messages with their own notation.
RECORD_READERS: dict[type[Record], RecordReader[Record]] = {}
# Messages that can contain messages of their own kind, which the nesting limit counts.
RECURSIVE = (GraphProto, TypeProto, SequenceProto, MapProto, OptionalProto)


def register_reader(message: type[RecordT]) -> Callable[[RecordReader[RecordT]], RecordReader[RecordT]]:
    """Registers the parser of the notation of a message; one that nests calls `Lexer.enter` itself."""

    def register(reader: RecordReader[RecordT]) -> RecordReader[RecordT]:
        RECORD_READERS[message] = reader
        return reader

    return register


def read(lexer: Lexer, message: type[RecordT]) -> RecordT:
    """A record in the notation of its message, or as `{field: value, …}`."""
    reader = RECORD_READERS.get(message)
    if reader is not None and not lexer.is_at("{"):
        return cast(RecordT, reader(lexer))
    lexer.expect("{", f"of a {message.__name__}")
    record = message()
    if message not in RECURSIVE:
        read_fields(lexer, record, "}")
        return record
    lexer.enter()
    read_fields(lexer, record, "}")
    lexer.leave()
    return record


def read_extras(lexer: Lexer, record: Record, excluded: Container[str] = ()) -> None:
    """`@{field: value, …}` after the notation of a record: the fields that the notation does not cover."""
    if lexer.take("@{"):
        read_fields(lexer, record, "}", excluded)


def read_fields(lexer: Lexer, record: Record, close: str, excluded: Container[str] = ()) -> None:
    """`field: value, …` up to and including `close`.  excluded: fields with a notation, which must not occur here."""
    message = type(record)
    for _ in lexer.iterate_items(close, f"after a field of {message.__name__}"):
        start = lexer.start
        name = lexer.read_name(f"the name of a field of {message.__name__}")
        lexer.expect(":", f"after the field's name `{name}`")
        if name == "unknown":
            read_unknown(lexer, record)
            continue
        field = settable_field(lexer, record, name, start, excluded)
        value = read_list(lexer, field, message) if field.repeated else read_value(lexer, field, message)
        setattr(record, name, value)


def settable_field(lexer: Lexer, record: Record, name: str, start: int, excluded: Container[str]) -> Field:
    """The field `name`, found at position `start` of the text; raises TextError if it cannot be set here."""
    message = type(record)
    field = message.BY_NAME.get(name)
    if field is None:
        raise lexer.error(
            f"a field of {message.__name__} must be one of {', '.join(message.BY_NAME)}; got `{name}`", start
        )
    if name in excluded:
        raise lexer.error(
            f"`{name}` must be written in the notation of a {message.__name__}; got it as a field", start
        )
    for other in message.FIELDS:
        if record.has(other.name) and (other is field or (field.oneof and other.oneof == field.oneof)):
            exclusion = "" if other is field else f", which excludes `{name}`"
            raise lexer.error(f"`{other.name}` of this {message.__name__} is already set{exclusion}", start)
    return field


def read_list(lexer: Lexer, field: Field, message: type[Record]) -> object:
    lexer.expect("[", f"of the list `{field.name}`")
    what = f"a value of `{field.name}`"
    if field.kind not in ("string", "bytes", "message"):
        return lexer.read_numbers(field.kind, "]", what, field.packed)
    return [read_value(lexer, field, message) for _ in lexer.iterate_items("]", f"after {what}")]


def read_value(lexer: Lexer, field: Field, message: type[Record]) -> object:
    """One value of a field of a message."""
    if field.message is not None:
        return read(lexer, field.message)
    what = f"a value of `{field.name}`"
    if field.kind == "string":
        return lexer.read_string(f"a string in quotes as `{field.name}`")
    if field.kind == "bytes":
        return read_bytes(lexer, what)
    names = ENUMS.get((message, field.name))
    if names is not None and lexer.kind == "name":
        if lexer.value not in names:
            raise lexer.expected_error(f"one of {', '.join(names)} as `{field.name}`")
        return names[lexer.advance()]
    return lexer.read_number(field.kind, what)


def read_unknown(lexer: Lexer, record: Record) -> None:
    """`[bytes, …]`: the unknown fields of a record, each with its tag."""
    lexer.expect("[", "of the list `unknown`")
    for _ in lexer.iterate_items("]", "after an unknown field"):
        record.add_unknown(read_bytes(lexer, 'the bytes of an unknown field, as in `hex "9a0601"`'))


def read_bytes(lexer: Lexer, what: str) -> bytes:
    """A string literal, or `base64` or `hex` followed by one."""
    coding = lexer.value if lexer.kind == "name" and lexer.value in ("base64", "hex") else ""
    if coding:
        lexer.advance()
    if lexer.kind != "string":
        raise lexer.expected_error(f"a string after `{coding}`" if coding else what)
    try:
        value = decode_literal(lexer.value, coding)
    except ValueError as error:
        raise lexer.error(str(error)) from None
    lexer.advance()
    return value


def decode_literal(literal: str, coding: str) -> bytes:
    data = unquote_bytes(literal)
    if not coding:
        return data
    try:
        return base64.b64decode(data, validate=True) if coding == "base64" else binascii.unhexlify(data)
    except binascii.Error as error:
        raise ValueError(f"the string must be {coding}: {error}") from None

"""Reads any record: in the notation of its own that a message may have, or as `{field: value, …}`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Container
from typing import TypeAlias, TypeVar, cast

from sardonyx._src.proto.messages import GraphProto, MapProto, OptionalProto, SequenceProto, TypeProto
from sardonyx._src.proto.record import Field, Record
from sardonyx._src.proto.text.lexer import Lexer
from sardonyx._src.proto.text.words import ENUMS, unquoted_bytes

R = TypeVar("R", bound=Record)
Reader: TypeAlias = Callable[[Lexer], R]
READERS: dict[type[Record], Reader[Record]] = {}  # of the messages that have a notation of their own
RECURSIVE = (GraphProto, TypeProto, SequenceProto, MapProto, OptionalProto)


def reads(message: type[R]) -> Callable[[Reader[R]], Reader[R]]:
    """Registers the reader of a message's own notation."""

    def register(reader: Reader[R]) -> Reader[R]:
        READERS[message] = reader
        return reader

    return register


def read(p: Lexer, message: type[R]) -> R:
    reader = READERS.get(message)
    if reader is not None and not p.at("{"):
        return cast(R, reader(p))
    p.expect("{", f"of a {message.__name__}")
    found = message()
    if message not in RECURSIVE:
        read_fields(p, found, "}")
        return found
    p.enter()
    read_fields(p, found, "}")
    p.leave()
    return found


def read_extras(p: Lexer, found: Record, apart: Container[str] = ()) -> None:
    """`@{field: value, …}` after a record's own notation: what that cannot say."""
    if p.take("@{"):
        read_fields(p, found, "}", apart)


def read_fields(p: Lexer, found: Record, close: str, apart: Container[str] = ()) -> None:
    """`field: value, …` up to and including `close`; the fields `apart` have a place of their own elsewhere."""
    message = type(found)
    for _ in p.items(close, f"after a field of {message.__name__}"):
        at = p.start
        name = p.name(f"the name of a field of {message.__name__}")
        p.expect(":", f"after the field's name `{name}`")
        if name == "unknown":
            read_unknown(p, found)
            continue
        field = settable(p, found, name, at, apart)
        value = read_list(p, field, message) if field.repeated else read_value(p, field, message)
        setattr(found, name, value)


def settable(p: Lexer, found: Record, name: str, at: int, apart: Container[str]) -> Field:
    """The field called `name`, which stands at `at`, if it may be set here."""
    message = type(found)
    field = message.BY_NAME.get(name)
    if field is None:
        raise p.error(f"{message.__name__} has no field `{name}`; it has {', '.join(message.BY_NAME)}", at)
    if name in apart:
        raise p.error(f"`{name}` has a place of its own in a {message.__name__}; write it there", at)
    for other in message.FIELDS:
        if found.has(other.name) and (other is field or (field.oneof and other.oneof == field.oneof)):
            beside = "" if other is field else f", which excludes `{name}`"
            raise p.error(f"`{other.name}` of this {message.__name__} is already set{beside}", at)
    return field


def read_list(p: Lexer, field: Field, message: type[Record]) -> object:
    p.expect("[", f"of the list `{field.name}`")
    what = f"a value of `{field.name}`"
    if field.kind not in ("string", "bytes", "message"):
        return p.numbers(field.kind, "]", what, field.packed)
    return [read_value(p, field, message) for _ in p.items("]", f"after {what}")]


def read_value(p: Lexer, field: Field, message: type[Record]) -> object:
    if field.message is not None:
        return read(p, field.message)
    what = f"a value of `{field.name}`"
    if field.kind == "string":
        return p.string(f"a string in quotes as `{field.name}`")
    if field.kind == "bytes":
        return read_bytes(p, what)
    names = ENUMS.get((message, field.name))
    if names is not None and p.kind == "name":
        if p.value not in names:
            raise p.expected(f"one of {', '.join(names)} as `{field.name}`")
        return names[p.advance()]
    return p.number(field.kind, what)


def read_unknown(p: Lexer, found: Record) -> None:
    """Unknown fields, each with its tag."""
    p.expect("[", "of the list `unknown`")
    for _ in p.items("]", "after an unknown field"):
        found.keep(read_bytes(p, 'the bytes of an unknown field, as in `hex "9a0601"`'))


def read_bytes(p: Lexer, what: str) -> bytes:
    """A string literal, or `base64` or `hex` and one."""
    coding = p.value if p.kind == "name" and p.value in ("base64", "hex") else ""
    if coding:
        p.advance()
    if p.kind != "string":
        raise p.expected(f"a string after `{coding}`" if coding else what)
    try:
        value = decoded(p.value, coding)
    except ValueError as error:
        raise p.error(str(error)) from None
    p.advance()
    return value


def decoded(literal: str, coding: str) -> bytes:
    data = unquoted_bytes(literal)
    if not coding:
        return data
    try:
        return base64.b64decode(data, validate=True) if coding == "base64" else binascii.unhexlify(data)
    except binascii.Error as error:
        raise ValueError(f"this is not {coding}: {error}") from None

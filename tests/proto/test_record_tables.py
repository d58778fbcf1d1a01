"""The tables of the records are those of the wheel's descriptors."""

from __future__ import annotations

import enum

import pytest

from proto.judge import TYPES, Message, judge_of, judges
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.messages import MESSAGES
from sardonyx._src.proto.record import Field, Record


def field_of_descriptor(field: Message) -> Field:
    """The row of our table that corresponds to the descriptor."""
    oneof = field.containing_oneof.name if field.containing_oneof else ""
    inner = field.message_type and name_of(field.message_type)
    return Field(
        name=field.name,
        number=field.number,
        kind=TYPES[field.type],
        repeated=field.is_repeated,
        packed=field.is_packed,
        oneof=oneof,
        message=getattr(m, inner) if inner else None,
        enum=getattr(m, name_of(field.enum_type)) if field.enum_type else None,
    )


def name_of(descriptor: Message) -> str:
    """Our name of a message or an enum: that of the outer message, if any, and its own."""
    outer: str = descriptor.containing_type.name if descriptor.containing_type else ""
    return outer + str(descriptor.name)


def test_there_is_a_record_for_every_message() -> None:
    assert {message.__name__ for message in MESSAGES} == set(judges())
    assert len(MESSAGES) == 33


@pytest.mark.parametrize("message", MESSAGES)
def test_a_table_has_every_field_as_the_wheel_has_it(message: type[Record]) -> None:
    fields = sorted(judge_of(message).DESCRIPTOR.fields, key=lambda f: f.number)
    assert tuple(field_of_descriptor(f) for f in fields) == message.FIELDS
    assert {f.name: f for f in message.FIELDS} == message.BY_NAME


def test_every_enum_has_the_wheels_names_and_numbers() -> None:
    descriptors: dict[str, Message] = {}
    for judge in judges().values():
        descriptors |= {name_of(e): e for e in judge.DESCRIPTOR.enum_types}
        descriptors |= judge.DESCRIPTOR.file.enum_types_by_name
    ours = {name: e for name, e in vars(m).items() if isinstance(e, type) and issubclass(e, enum.IntEnum)}
    assert set(ours) == set(descriptors)
    for name, our_enum in ours.items():
        expected = {value.name: value.number for value in descriptors[name].values}
        assert {value.name: value.value for value in our_enum} == expected, name


def test_defaults_are_those_of_the_wheel() -> None:
    for message in MESSAGES:
        record, judge = message(), judge_of(message)()
        for field in message.FIELDS:
            if not field.repeated and field.kind != "message":
                assert getattr(record, field.name) == getattr(judge, field.name), (message, field.name)

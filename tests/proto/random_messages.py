"""Random messages of the wheel's classes, and random wire forms of one message."""

from __future__ import annotations

from hypothesis import strategies as st

from proto.judge import Message, judge_of
from sardonyx._src.proto.messages import MESSAGES
from sardonyx._src.proto.record import RANGES, Record

message_types = st.sampled_from(MESSAGES)


def integers(kind: str) -> st.SearchStrategy[int]:
    low, high = RANGES[kind].start, RANGES[kind].stop - 1
    return st.one_of(st.integers(max(low, -2), 300), st.integers(low, high), st.sampled_from([low, high]))


def scalars(descriptor: Message) -> st.SearchStrategy[object]:
    """Values of a field that is no message."""
    if descriptor.enum_type is not None:
        return st.sampled_from([value.number for value in descriptor.enum_type.values])
    strategies: dict[int, st.SearchStrategy[object]] = {
        descriptor.TYPE_STRING: st.text(max_size=6),
        descriptor.TYPE_BYTES: st.binary(max_size=6),
        descriptor.TYPE_FLOAT: st.floats(width=32),
        descriptor.TYPE_DOUBLE: st.floats(),
        descriptor.TYPE_INT32: integers("int32"),
        descriptor.TYPE_INT64: integers("int64"),
        descriptor.TYPE_UINT64: integers("uint64"),
    }
    return strategies[descriptor.type]


@st.composite
def random_message(draw: st.DrawFn, judge: Message, depth: int = 3) -> Message:
    """A message of this class with some of its fields set, possibly to their defaults."""
    message = judge()
    fields = list(judge.DESCRIPTOR.fields)
    for descriptor in draw(st.lists(st.sampled_from(fields), unique_by=lambda f: f.name, max_size=5)):
        if descriptor.message_type is not None:
            if depth:
                set_messages(draw, message, descriptor, depth - 1)
        elif descriptor.is_repeated:
            getattr(message, descriptor.name).extend(draw(st.lists(scalars(descriptor), max_size=4)))
        else:
            setattr(message, descriptor.name, draw(scalars(descriptor)))
    return message


def set_messages(draw: st.DrawFn, message: Message, descriptor: Message, depth: int) -> None:
    parts = random_message(descriptor.message_type._concrete_class, depth)
    if descriptor.is_repeated:
        getattr(message, descriptor.name).extend(draw(st.lists(parts, max_size=2)))
    else:
        part = getattr(message, descriptor.name)
        part.SetInParent()
        part.CopyFrom(draw(parts))


def messages(message: type[Record]) -> st.SearchStrategy[Message]:
    """Random messages of the wheel's class for ours."""
    return random_message(judge_of(message))

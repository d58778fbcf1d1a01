"""Seeded random mutations of models, in their bytes or in their records."""

from __future__ import annotations

import random
from collections.abc import Iterator

from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.record import Field, Record

INTEGERS = [0, 1, -1, 2, 7, 28, 29, 127, 128, 255, 1 << 31, -(1 << 31), 1 << 40, (1 << 63) - 1, -(1 << 63)]
FLOATS = [0.0, 1.0, -1.0, 0.5, 1e30, float("nan"), float("inf")]
TEXTS = [
    "",
    "x",
    "y",
    "N",
    "2*N",
    "-1",
    "N-N",
    "N//0",
    "(",
    "a.b",
    "é",
    "\udc80",
    "\0",
    "ai.onnx",
    "com.x",
    "l",
    "f",
]
OPERATORS = [
    "Add",
    "Cast",
    "Concat",
    "ConstantOfShape",
    "Expand",
    "Identity",
    "If",
    "Loop",
    "Reshape",
    "Scan",
    "Split",
]
TARGETS = (
    m.NodeProto,
    m.AttributeProto,
    m.TensorProto,
    m.ValueInfoProto,
    m.TypeProto,
    m.TensorShapeProtoDimension,
)


def mutated_bytes(data: bytes, rng: random.Random) -> bytes:
    """The data with some bytes changed, cut out, put in or copied from elsewhere."""
    result = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        start, size = rng.randrange(len(result)), rng.randrange(1, 9)
        match rng.randrange(5):
            case 0:
                result[start] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            case 1:
                result[start] ^= 1 << rng.randrange(8)
            case 2:
                del result[start : start + size]
            case 3:
                result[start:start] = rng.randbytes(size)
            case 4:
                source = rng.randrange(len(result))
                result[start : start + size] = result[source : source + size]
        result = result or bytearray(1)
    return bytes(result)


def mutated_records(data: bytes, rng: random.Random) -> bytes:
    """The model with some fields of some messages set to something else, cleared, doubled or shuffled."""
    model = decode(data, m.ModelProto)
    for _ in range(rng.choice([1, 1, 2, 4])):
        everything = list(messages(model))
        targets = (
            [record for record in everything if isinstance(record, TARGETS)] if rng.random() < 0.7 else []
        )
        target = rng.choice(targets or everything)
        present = [field for field, _ in target.present()]
        field = rng.choice(present) if present and rng.random() < 0.75 else rng.choice(type(target).FIELDS)
        mutate(target, field, everything, rng)
    return encode(model)


def messages(record: Record) -> Iterator[Record]:
    yield record
    for field, value in record.present():
        if field.message is not None:
            for item in value if isinstance(value, list) else [value]:
                assert isinstance(item, Record)
                yield from messages(item)


def mutate(target: Record, field: Field, everything: list[Record], rng: random.Random) -> None:
    if not field.repeated:
        if rng.random() < 0.15:
            target.clear(field.name)
        else:
            target.set(field.name, value_for(field, everything, rng))
        return
    values = list(getattr(target, field.name))
    index = rng.randrange(len(values) + 1)
    match rng.randrange(4):
        case 0:
            values[index : index + 1] = []
        case 1:
            values.insert(index, value_for(field, everything, rng))
        case 2:
            values[index : index + 1] = [value_for(field, everything, rng)]
        case 3:
            rng.shuffle(values)
    target.set(field.name, values)


def value_for(field: Field, everything: list[Record], rng: random.Random) -> object:
    if field.message is not None:
        alike = [record for record in everything if type(record) is field.message]
        return (
            decode(encode(rng.choice(alike)), field.message)
            if alike and rng.random() < 0.7
            else field.message()
        )
    if field.kind == "string":
        names = [
            name
            for record in everything
            if isinstance(record, m.NodeProto)
            for name in (*record.input, *record.output)
        ]
        return rng.choice([*TEXTS, *OPERATORS, *names])
    if field.kind == "bytes":
        return rng.randbytes(rng.choice([0, 1, 4, 8]))
    if field.kind in ("float", "double"):
        return rng.choice(FLOATS)
    number = rng.choice(INTEGERS)
    if field.kind in ("int32", "enum"):
        return max(-(1 << 31), min((1 << 31) - 1, number))
    return abs(number) if field.kind == "uint64" else number

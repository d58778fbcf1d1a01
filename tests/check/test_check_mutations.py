"""No damage to a model makes the checker fail: it reports, always."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import cast

import pytest

from check.examples import model
from sardonyx.check import check
from sardonyx.check.pages import page, rules
from sardonyx.proto.binary import decode, encode
from sardonyx.proto.messages import ModelProto
from sardonyx.proto.record import Record

NUMBERS = (0, 1, -1, 2, 7, 8, 99, 1 << 31, -(1 << 63), (1 << 63) - 1)
TEXTS = ("", "x", "y", "w", "\udcff", "é", "../w", "a" * 300, "Loop", "ai.onnx", "\0")
WORDS = (
    "hex",
    "deep",
    "json",
    "text",
    "tensor",
    "sequence",
    "map",
    "optional",
    "operator-set",
    "file",
    "link",
    "hard",
)
SEEDS = [
    encode(model(page(code).good)) for code in rules() if page(code).good.split(maxsplit=1)[0] not in WORDS
]


def records_in(record: Record) -> Iterator[Record]:
    yield record
    for field, value in record.present():
        if field.message is not None:
            for one in cast("list[Record]", value if field.repeated else [value]):
                yield from records_in(one)


def damage(record: Record, chance: random.Random) -> None:
    """Gives one field of one record a value of its kind that it should not have, or takes it away."""
    victim = chance.choice(list(records_in(record)))
    field = chance.choice(victim.FIELDS)
    if chance.random() < 0.25:
        victim.clear(field.name)
        return
    value: object
    if field.kind == "message":
        assert field.message is not None, "messages have a class"
        others = [r for r in records_in(record) if type(r) is field.message]
        value = decode(encode(chance.choice(others)), field.message) if others else field.message()
    elif field.kind == "string":
        value = chance.choice(TEXTS)
    elif field.kind == "bytes":
        value = bytes(chance.randrange(256) for _ in range(chance.randrange(12)))
    elif field.kind in ("float", "double"):
        value = chance.choice((0.0, -1.5, float("nan")))
    else:
        wide = field.kind in ("int64", "uint64")
        value = chance.choice(NUMBERS if wide else NUMBERS[:7]) % (
            1 << 64 if field.kind == "uint64" else 1 << 70
        )
        value = value if field.kind == "uint64" else value if value < 1 << 63 else value - (1 << 70)
    victim.set(field.name, [value] * chance.randrange(4) if field.repeated else value)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_fields_are_reported(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        record = decode(chance.choice(SEEDS), ModelProto)
        for _ in range(chance.randrange(1, 5)):
            damage(record, chance)
        assert all(d.message for d in check(record).diagnostics)


@pytest.mark.parametrize("seed", range(10))
def test_damaged_bytes_are_reported(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(150):
        data = bytearray(chance.choice(SEEDS))
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        assert all(d.message for d in check(bytes(data)).diagnostics)

"""What a record states comes back after loading and saving, at the same place, or a note says that it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path

import pytest

import sardonyx as sx
from complete_model import DATA, DATA_FILE, complete_model, message_fields, records
from sardonyx._src.errors import SardonyxError
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.record import Record

UNKNOWN = {  # one field of each wire type, with numbers that no message has
    "varint": b"\x98\x3f\x96\x01",
    "fixed64": b"\x99\x3f" + bytes(range(8)),
    "length-delimited": b"\x9a\x3f\x03abc",
    "group": b"\x9b\x3f\x08\x01\x9c\x3f",
    "fixed32": b"\x9d\x3f" + bytes(range(4)),
}
PATHS = [path for path, _ in records(complete_model())]


def test_the_complete_model_has_every_message_field() -> None:
    present = {
        (type(record).__name__, field.name)
        for _, record in records(complete_model())
        for field, _ in record.present()
        if field.message
    }
    assert present == message_fields(m.ModelProto)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
    (tmp_path / "before" / DATA_FILE).write_bytes(DATA)
    return tmp_path


def load_and_save(record: m.ModelProto, folder: Path) -> tuple[m.ModelProto, list[str]]:
    """The record of the model that is written, and the notes of loading it."""
    source, target = folder / "before" / "m.onnx", folder / "after" / "m.onnx"
    source.write_bytes(encode(record))
    model = sx.load(source)
    sx.save(model, target, align=1)
    return decode(target.read_bytes(), m.ModelProto), [str(note) for note in model.notes]


def test_the_complete_model_comes_back(folder: Path) -> None:
    assert load_and_save(complete_model(), folder) == (complete_model(), [])


@pytest.mark.parametrize("path", PATHS)
def test_unknown_fields_of_a_message_come_back(path: str, folder: Path) -> None:
    record = complete_model()
    dict(records(record))[path].add_unknown_fields(UNKNOWN.values())
    assert load_and_save(record, folder) == (record, [])


def test_unknown_fields_of_all_messages_come_back_together(folder: Path) -> None:
    record = complete_model()
    for i, (_, part) in enumerate(records(record)):
        part.add_unknown(b"\x9a\x3f\x02" + i.to_bytes(2))
    assert load_and_save(record, folder) == (record, [])


# --- changes of the complete model ------------------------------------------------------------

Change = Callable[[Record], None]


def state_default(name: str) -> Change:
    return lambda record: record.set(name, getattr(type(record), name))


def state_value(name: str, value: object) -> Change:
    return lambda record: record.set(name, value)


def clear(name: str) -> Change:
    return lambda record: record.clear(name)


def repeat_last(name: str) -> Change:
    def change(record: Record) -> None:
        values = getattr(record, name)
        values.append(deepcopy(values[-1]))

    return change


def reverse(name: str) -> Change:
    return lambda record: getattr(record, name).reverse()


VALUES = {"string": "ai.onnx", "bytes": b"bytes", "float": 2.5, "double": 2.5}


def changes(record: Record) -> Iterator[tuple[str, Change]]:
    """Every way of stating a default, stating a value, leaving out a field, doubling an entry, reversing a list."""
    for field in record.FIELDS:
        if record.has(field.name):
            yield f"without {field.name}", clear(field.name)
        if field.repeated:
            if len(getattr(record, field.name)):
                yield f"repeated {field.name}", repeat_last(field.name)
            if (
                len(getattr(record, field.name)) > 1 and field.name != "external_data"
            ):  # data are written anew
                yield f"reversed {field.name}", reverse(field.name)
        elif field.message:
            yield f"empty {field.name}", state_value(field.name, field.message())
        else:
            yield f"default {field.name}", state_default(field.name)
            for value in [VALUES[field.kind]] if field.kind in VALUES else [-1, 3]:
                yield f"{field.name} {value!r}", state_value(field.name, value)


@pytest.mark.parametrize("path", PATHS)
def test_changed_records_come_back_or_are_noted(path: str, folder: Path) -> None:
    for name, change in changes(dict(records(complete_model()))[path]):
        record = complete_model()
        change(dict(records(record))[path])
        try:
            written, notes = load_and_save(record, folder)
        except SardonyxError:
            continue  # not a valid model
        assert written == record or notes, name

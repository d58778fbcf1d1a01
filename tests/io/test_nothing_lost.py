"""What a record states comes back after loading and saving, at the same place, or a note says that it does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path

import pytest

import sardonyx as sx
from complete_model import DATA, DATA_FILE, complete_model, message_fields, records
from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.saving.layout import ExternalDataLayout
from sardonyx._src.io.saving.save import external_rule
from sardonyx._src.io.serde import to_proto
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode
from sardonyx._src.proto.record import Record

UNKNOWN = {  # one field of each wire type, with numbers that no message has
    "varint": b"\x98\x3f\x96\x01",
    "fixed64": b"\x99\x3f" + bytes(range(8)),
    "length-delimited": b"\x9a\x3f\x03abc",
    "group": b"\x9b\x3f\x08\x01\x9c\x3f",
    "fixed32": b"\x9d\x3f" + bytes(range(4)),
}
PATHS = [path for path, _ in records(complete_model())]
EXTERNAL = "model.graph.initializer[1]"  # where its elements are is decided anew by every save


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
    (tmp_path / DATA_FILE).write_bytes(DATA)
    return tmp_path


def load_and_save(record: m.ModelProto, folder: Path) -> tuple[m.ModelProto, list[str]]:
    """The record that is written for the model of a record, and the notes of loading it."""
    model = sx.load(record, base=folder)
    layout = ExternalDataLayout(DATA_FILE, external_rule(None, 0), align=1, shard_size=None)
    written = to_proto.model(model, layout.place)
    return written, [str(note) for note in model.notes]


def test_the_complete_model_comes_back(folder: Path) -> None:
    assert load_and_save(complete_model(), folder) == (complete_model(), [])


def test_a_file_comes_back(folder: Path) -> None:
    (folder / "after").mkdir()
    (folder / "m.onnx").write_bytes(encode(complete_model()))
    sx.save(sx.load(folder / "m.onnx"), folder / "after" / "m.onnx", align=1)
    for name in ("m.onnx", DATA_FILE):
        assert (folder / "after" / name).read_bytes() == (folder / name).read_bytes()


def test_unknown_fields_of_every_message_come_back(folder: Path) -> None:
    record = complete_model()
    for i, (_, part) in enumerate(records(record)):
        part.add_unknown_fields(
            [*UNKNOWN.values(), b"\x9a\x3f\x02" + i.to_bytes(2)]
        )  # other ones in each message
    written, notes = load_and_save(record, folder)
    assert dict(unknown_fields(written)) == dict(unknown_fields(record))
    assert (written, notes) == (record, [])


def unknown_fields(record: Record) -> Iterator[tuple[str, list[bytes]]]:
    return ((path, [bytes(field) for field in part.unknown]) for path, part in records(record))


def part_at(record: Record, path: str) -> Record:
    """The record in a model at a path such as model.graph.node[0]."""
    for name, index in re.findall(r"\.(\w+)(?:\[(\d+)\])?", path):
        value = getattr(record, name)
        record = value[int(index)] if index else value
    return record


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


@pytest.mark.parametrize("path", [path for path in PATHS if not path.startswith(EXTERNAL)])
def test_changed_records_come_back_or_are_noted(path: str, folder: Path) -> None:
    for name, change in changes(part_at(complete_model(), path)):
        record = complete_model()
        change(part_at(record, path))
        try:
            written, notes = load_and_save(record, folder)
        except SardonyxError:
            continue  # not a valid model
        assert written == record or notes, name

"""The JSON mapping on real files and random messages, with protobuf's own as the reference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st

from proto.judge import SHARED, assert_same, judge_of, official_files, shared_files
from proto.random_messages import message_types, messages
from sardonyx._src.proto.binary import decode
from sardonyx._src.proto.json import from_json, to_json
from sardonyx._src.proto.record import Record

LARGEST_FLOAT_TEXTS = (
    "3.4028235e+38",
    "3.4028234663852886e+38",
)  # protobuf's reader refuses its own spelling of this float


@pytest.fixture(scope="module")
def files() -> list[tuple[Path, type[Record]]]:
    """All files of the wheel, and the small shared models."""
    shared = shared_files() if SHARED.is_dir() else ()
    return [*official_files(), *((path, kind) for path, kind in shared if path.stat().st_size < 1_000_000)]


def test_every_file_maps_to_the_text_that_protobuf_maps_it_to(files: list[tuple[Path, type[Record]]]) -> None:
    for path, message in files:
        data = path.read_bytes()
        theirs = json_format.MessageToJson(judge_of(message).FromString(data))
        assert to_json(decode(data, message), indent=2) == theirs, path


def test_every_file_reads_back_as_the_same_record(files: list[tuple[Path, type[Record]]]) -> None:
    for path, message in files:
        record = decode(path.read_bytes(), message)
        assert from_json(to_json(record), message) == record, path


def test_protobuf_reads_the_text_of_every_file_as_the_same_message(
    files: list[tuple[Path, type[Record]]],
) -> None:
    for path, message in files:
        data = path.read_bytes()
        judge = judge_of(message)
        assert json_format.Parse(to_json(decode(data, message)), judge()) == judge.FromString(data), path


def shape(text: str) -> object:
    """The JSON tree without its floats, for which protobuf prints more digits than necessary."""
    return json.loads(text, parse_float=lambda digits: "a float")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data())
def test_random_messages_map_as_in_protobuf(data: st.DataObject) -> None:
    message = data.draw(message_types)
    theirs = data.draw(messages(message))
    their_text = json_format.MessageToJson(theirs).replace(*LARGEST_FLOAT_TEXTS)
    record = decode(theirs.SerializeToString(), message)
    assert shape(to_json(record)) == shape(their_text)
    assert from_json(their_text, message) == record


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data())
def test_protobuf_reads_what_we_write_as_we_do(data: st.DataObject) -> None:
    message = data.draw(message_types)
    record = decode(data.draw(messages(message)).SerializeToString(), message)
    assert_same(from_json(to_json(record), message), json_format.Parse(to_json(record), judge_of(message)()))

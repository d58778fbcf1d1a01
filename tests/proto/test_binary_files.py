"""Real files: decoding and encoding agree with protobuf."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from proto.judge import SHARED, assert_same, judge_of, official_files, shared_files
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.record import Record

Files = list[tuple[Path, type[Record]]]


@pytest.fixture(scope="module")
def official() -> Files:
    return list(official_files())


@pytest.fixture(scope="module")
def shared() -> Files:
    if not SHARED.is_dir():
        pytest.skip("the shared models are not available")
    return list(shared_files())


@pytest.fixture(scope="module", params=["official", "shared"])
def files(request: pytest.FixtureRequest) -> Files:
    contents: Files = request.getfixturevalue(request.param)
    return contents


def test_the_wheel_has_all_of_its_test_data(official: Files) -> None:
    assert len(official) == 476


def test_every_file_holds_for_us_what_it_holds_for_protobuf(files: Files) -> None:
    for path, message in files:
        data = path.read_bytes()
        assert_same(decode(data, message), judge_of(message).FromString(data), str(path))


def test_no_file_has_fields_that_the_tables_lack(official: Files) -> None:
    for path, message in official:
        todo: list[object] = [decode(path.read_bytes(), message)]
        while todo:
            value = todo.pop()
            if isinstance(value, Record):
                assert not value.unknown, path
                todo += [v for _, v in value.present()]
            elif isinstance(value, list):
                todo += value


def test_protobuf_reads_what_we_write_as_the_same_message(files: Files) -> None:
    for path, message in files:
        data = path.read_bytes()
        judge = judge_of(message)
        assert judge.FromString(encode(decode(data, message))) == judge.FromString(data), path


def test_official_files_are_written_as_protobuf_writes_them_deterministically(official: Files) -> None:
    for path, message in official:
        data = path.read_bytes()
        theirs = judge_of(message).FromString(data).SerializeToString(deterministic=True)
        assert encode(decode(data, message)) == theirs, path


def test_a_memory_map_reads_as_the_bytes_do(files: Files) -> None:
    for path, message in files:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            record = decode(mapped, message)
            assert record == decode(path.read_bytes(), message), path
            assert encode(record) == encode(decode(path.read_bytes(), message)), path
            del record

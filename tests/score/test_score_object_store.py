"""Sources and sinks in an object store, through a file system of Arrow that is not local; jobs that are killed there continue."""

from __future__ import annotations

import contextlib
import io
import json
import os
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import sardonyx as sx
from models import parse_model
from object_store import ObjectStore
from sardonyx._src.score.results import parts
from sardonyx._src.tables.places import FilePlace, PendingFile

MODEL = "g (float[N] a) => (float[N] y) { y = Neg(a) }"
ROWS = 20
TEXTS = ["a/b", "..", "50%", "é"] * 5


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """The store of the addresses store://..."""
    objects = ObjectStore()
    filesystem, local = fs.PyFileSystem(objects), FilePlace.of

    def place_of(path: str | os.PathLike[str]) -> FilePlace:
        text = os.fspath(path)
        return FilePlace(filesystem, text[8:]) if text.startswith("store://") else local(path)

    monkeypatch.setattr(FilePlace, "of", place_of)
    return objects


def session() -> sx.Session:
    return sx.Session(parse_model(MODEL), engine="reference")


def table() -> pa.Table:
    return pa.table(
        {
            "a": pa.array([None if i % 5 == 4 else float(i) for i in range(ROWS)]),
            "id": range(ROWS),
            "text": TEXTS,
        }
    )


def parquet(rows: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(rows, file, row_group_size=6)
    return file.getvalue()


def scored(store: ObjectStore, folder: str) -> list[float]:
    """The results of a folder in the order of its parts."""
    files = pyarrow.dataset.dataset(folder, filesystem=fs.PyFileSystem(store), format="parquet")
    values: list[float] = files.to_table()["y"].to_pylist()
    return values


def partitions(store: ObjectStore, folder: str, names: list[str]) -> set[tuple[str, ...]]:
    """The values that the paths of files in a folder name."""
    paths = [key.removeprefix(f"{folder}/").split("/")[:-1] for key in store.objects if f"{folder}/" in key]
    folders = [path for path in paths if path != ["_sardonyx"]]
    assert all([text.partition("=")[0] for text in path] == names for path in folders)
    return {tuple(unquote(text.partition("=")[2]) for text in path) for path in folders}


EXPECTED_ROWS = [i for i in range(ROWS) if i % 5 != 4]
EXPECTED = [-float(i) for i in EXPECTED_ROWS]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl", "arrow", "arrows", "csv.gz"])
def test_files_of_every_format(suffix: str, store: ObjectStore) -> None:
    copy = sx.Session(parse_model("g (float[N] a) => (float[N] b) { b = Identity(a) }"), engine="reference")
    whole = pa.table({"a": [1.0, 2.0, 3.0]})
    plain = suffix.removesuffix(".gz")
    sx.score(copy, whole, f"store://bucket/in.{plain}", columns={"a": "a"})
    if plain != suffix:
        buffer = pa.BufferOutputStream()
        with pa.CompressedOutputStream(buffer, "gzip") as file:
            file.write(store.objects.pop(f"bucket/in.{plain}")[0])
        store.put(f"bucket/in.{suffix}", buffer.getvalue().to_pybytes())
    result = sx.score(session(), f"store://bucket/in.{suffix}", columns={"a": "b"}).table
    assert result is not None and result["y"].to_pylist() == [-1.0, -2.0, -3.0]
    assert list(store.objects) == [f"bucket/in.{suffix}"]


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_folders_with_partitions(format: str, store: ObjectStore) -> None:
    for country in ("fr", "de"):
        data = b"a\n1\n2\n" if format == "csv" else parquet(pa.table({"a": [1.0, 2.0]}))
        store.put(f"bucket/in/country={country}/part-0.{format}", data)
    result = sx.score(session(), "store://bucket/in", keep=["country"], source_format=format).table
    assert result is not None
    assert result.to_pydict() == {"country": ["de", "de", "fr", "fr"], "y": [-1.0, -2.0, -1.0, -2.0]}


def test_missing_objects_are_errors(store: ObjectStore) -> None:
    for name in ("in.parquet", "in.csv", "folder/"):
        with pytest.raises(sx.InputError, match=f"the source must .*store://bucket/{name}"):
            sx.score(session(), f"store://bucket/{name}")


class Kill(BaseException):
    """What ends a job as a kill does: nothing is cleaned up."""


@pytest.mark.parametrize("partition_by", [[], ["id"], ["text", "id"]])
def test_kills_before_and_after_every_change_of_an_object(
    partition_by: list[str], store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART_ROWS", 3)
    store.put("bucket/in.parquet", parquet(table()))
    names = ("store://bucket/in.parquet", "store://bucket/out/")
    job = {"rejects": "store://bucket/bad.jsonl", "batch_rows": 2, "keep": ["text", "id"]}
    job["partition_by"] = partition_by
    kills = 0
    for step in range(1, 60):
        store.delete_dir("bucket/out")
        with monkeypatch.context() as patches:
            kill_at(step, patches)
            patches.setattr(parts.FolderSink, "discard", lambda self: None)
            with contextlib.suppress(Kill):
                sx.score(session(), *names, **job)  # type: ignore[arg-type]
                break
        kills += 1
        result = sx.score(session(), *names, **job)  # type: ignore[arg-type]
        assert (result.rows, result.rejected) == (ROWS, ROWS // 5)
        assert sorted(scored(store, "bucket/out"), reverse=True) == EXPECTED
        assert partitions(store, "bucket/out", partition_by) == {
            tuple(str(TEXTS[i] if name == "text" else i) for name in partition_by) for i in EXPECTED_ROWS
        }
        lines = store.objects["bucket/bad.jsonl"][0].splitlines()
        assert [json.loads(line)["row"] for line in lines] == [4, 9, 14, 19]
        assert not [key for key in store.objects if "pending" in key]
    assert kills > 10


def kill_at(step: int, patches: pytest.MonkeyPatch) -> None:
    """Ends a job between writes, and within the commits of objects, whose renames are copies and removals."""
    count = step

    def wrap(owner: type, name: str) -> None:
        change = getattr(owner, name)

        def changed(*args: object) -> None:
            nonlocal count
            count -= 1
            if count == 0:
                raise Kill
            change(*args)

        patches.setattr(owner, name, changed)

    wrap(PendingFile, "commit")
    wrap(ObjectStore, "delete_file")

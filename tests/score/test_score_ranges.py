"""Ranges of sources that workers of a cluster read: together they are the rows of the source."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sardonyx._src.score.job import ranges
from sardonyx._src.score.job.ranges import SourceRange, drop_rows, split_source
from sardonyx._src.score.model.scorer import Reject, ScoredBatch
from sardonyx._src.tables import text_tables
from sardonyx._src.tables.file_tables import FileTable
from sardonyx._src.tables.opening import open_source
from sardonyx._src.tables.sources import SourceBatch
from sardonyx._src.tables.text_tables import TextTable

COLUMNS = ["a", "id"]
ROWS = 60


def write(folder: Path, suffix: str) -> Path:
    """Two files with lines of many lengths, lines without text between them, and lines that do not parse."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for number in range(2):
        lines = ["a,id"] if suffix == "csv" else []
        for i in range(30 * number, 30 * number + 30):
            a, id = round(float(rng.normal()), int(rng.integers(1, 12))), "é" * int(rng.integers(0, 9))
            row = f"{a},{id}{i}" if suffix == "csv" else json.dumps({"a": a, "id": f"{id}{i}"})
            lines += [row if i % 7 != 3 else "no row at all, but text", *[""] * (i % 5 == 0)]
        ending = "" if number else "\n"
        (folder / f"{number}.{suffix}").write_text("\n".join(lines) + ending, encoding="utf-8")
    return folder


def rows_of(parts: list[SourceBatch], start: int = 0) -> list[tuple[int, object]]:
    """The number and the content of each row, with `start` added to the number."""
    rows: list[tuple[int, object]] = []
    for part in parts:
        content: list[object] = list(part.batch.to_pylist())
        for offset, unreadable in enumerate(part.unreadable):
            content.insert(unreadable.place + offset, unreadable.text)
        rows += [(start + part.first + i, row) for i, row in enumerate(content)]
    return rows


def rows_of_ranges(
    source: FileTable | TextTable, start: int, parts: list[SourceRange]
) -> list[tuple[int, object]]:
    rows: list[tuple[int, object]] = []
    for part in parts:
        rows += rows_of(list(part.read(source, COLUMNS, 7)), start if part.first is None else 0)
        start = rows[-1][0] + 1 if rows else start
    return rows


def open_table(path: Path, format: str) -> FileTable | TextTable:
    source = open_source(path, format)
    assert isinstance(source, FileTable | TextTable)
    return source


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize("size", [1, 2, 13, 100, 500, 100_000])
def test_ranges_of_text_have_each_line_once(
    suffix: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = open_table(write(tmp_path / "in", suffix), "csv" if suffix == "csv" else "json")
    expected = rows_of(list(source.read(0, COLUMNS, None)))
    assert [number for number, _ in expected] == list(range(ROWS))
    monkeypatch.setattr(ranges, "RANGE_BYTES", size)
    monkeypatch.setattr(text_tables, "LINE_BYTES", 3)
    start, parts = split_source(source, 0, COLUMNS)
    assert start == 0
    assert rows_of_ranges(source, 0, parts) == expected


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize("first", [1, 29, 30, 31, 59, 60])
def test_ranges_from_a_row_on(
    suffix: str, first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = open_table(write(tmp_path / "in", suffix), "csv" if suffix == "csv" else "json")
    expected = rows_of(list(source.read(0, COLUMNS, None)))
    monkeypatch.setattr(ranges, "RANGE_BYTES", 150)
    start, parts = split_source(source, first, COLUMNS)
    assert start <= first
    assert rows_of_ranges(source, start, parts) == expected[start:]


def test_ranges_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"a": np.arange(50.0), "id": [str(i) for i in range(50)]})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=8)
    monkeypatch.setattr(ranges, "RANGE_ROWS", 9)
    source = open_table(tmp_path / "in.parquet", "parquet")
    start, parts = split_source(source, 20, COLUMNS)
    assert (start, len(parts)) == (20, 4)
    assert rows_of_ranges(source, start, parts) == list(enumerate(table.to_pylist()))[20:]


def test_compressed_text_has_no_ranges(tmp_path: Path) -> None:
    with pa.CompressedOutputStream(str(tmp_path / "in.csv.gz"), "gzip") as file:
        file.write(b"a,id\n1,x\n")
    source = open_source(tmp_path / "in.csv.gz")
    assert isinstance(source, TextTable) and not source.has_ranges


@pytest.mark.parametrize("count", range(7))
def test_dropped_rows_are_those_before(count: int) -> None:
    rejected, scored = [1, 2, 4], [0, 3, 5]
    batch = pa.RecordBatch.from_pydict({"row": scored})
    whole = ScoredBatch(batch, tuple(Reject(row, "bad", None) for row in rejected), 6)
    rest = drop_rows(whole, count)
    assert rest.batch is not None and rest.rows == 6 - count
    assert rest.batch["row"].to_pylist() == [row for row in scored if row >= count]
    assert [reject.row for reject in rest.rejects] == [row for row in rejected if row >= count]
    assert drop_rows(replace(whole, batch=None), 0).batch is None

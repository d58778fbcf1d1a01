"""Folders of parts: jobs that are killed and continue."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.score.results import parts
from sardonyx._src.tables.places import FilePlace, PendingFile

MODEL = "g (float[N] a) => (float[N] y) { y = Neg(a) }"
KILLS = 2
SCHEMA = pyarrow.dataset.partitioning(pa.schema([("c", pa.int64()), ("d", pa.string())]), flavor="hive")
# Parts of 1000 rows, and a pause after each batch, so that kills meet every step.
PROGRAM = """
import sys, time
import sardonyx as sx
from sardonyx._src.score import parts
parts.PART_ROWS = 1000
model, source, sink, bad = sys.argv[1:]
write = parts.FolderSink.write
parts.FolderSink.write = lambda self, scored: (write(self, scored), time.sleep(0.004))
print("ready", flush=True)
sx.score(model, source, sink, keep=["id"], rejects=bad, batch_rows=100, engine="reference")
"""


def session(text: str = MODEL) -> sx.Session:
    return sx.Session(parse_model(text), engine="reference")


def write_rows(path: Path, rows: int) -> None:
    """Rows with a null in every seventh."""
    a = np.arange(rows, dtype=np.float32)
    columns = {"a": pa.array(a, mask=np.arange(rows) % 7 == 3), "id": np.arange(rows)}
    pq.write_table(pa.table(columns), path, row_group_size=700)


def test_kills_and_resumes_give_the_rows_of_an_undisturbed_job(tmp_path: Path) -> None:
    sx.save(parse_model(MODEL), tmp_path / "m.onnx")
    write_rows(tmp_path / "in.parquet", 20_000)
    names = [str(tmp_path / name) for name in ("m.onnx", "in.parquet", "out", "bad.jsonl")]
    delays = random.Random(0)
    for _ in range(KILLS):
        with subprocess.Popen([sys.executable, "-c", PROGRAM, *names], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(delays.uniform(0.05, 0.4))
            process.kill()
    bad = tmp_path / "bad.jsonl"
    result = sx.score(names[0], names[1], names[2], keep=["id"], rejects=bad, engine="reference")
    assert result.rows == 20_000
    table = pyarrow.dataset.dataset(names[2]).to_table()
    expected = np.array([i for i in range(20_000) if i % 7 != 3])
    np.testing.assert_array_equal(table["id"].to_numpy(), expected)
    np.testing.assert_array_equal(table["y"].to_numpy(), -expected.astype(np.float32))
    rejected = [json.loads(line)["row"] for line in bad.read_text().splitlines()]
    assert rejected == [i for i in range(20_000) if i % 7 == 3]
    assert result.rejected == len(rejected)


class Kill(BaseException):
    """What ends a job as a kill does: nothing is cleaned up."""


class Killer:
    """Ends a job before or after the nth time that it renames or removes a file."""

    def __init__(self, step: int, *, after: bool) -> None:
        self.steps, self.after = step, after

    def wrap(self, change: Callable[..., None]) -> Callable[..., None]:
        def changed(*args: object) -> None:
            self.steps -= 1
            if self.steps == 0 and not self.after:
                raise Kill
            change(*args)
            if self.steps == 0:
                raise Kill

        return changed


@pytest.mark.parametrize("partition_by", [[], ["c"], ["c", "d"]])
@pytest.mark.parametrize("after", [False, True])
def test_a_kill_between_any_two_changes_of_files_is_made_good(
    after: bool, partition_by: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART_ROWS", 4)
    a = pa.array([None if i % 5 == 4 else float(i) for i in range(12)])
    table = pa.table({"a": a, "c": [i % 2 for i in range(12)], "d": ["p/q"] * 6 + [None] * 6})
    job = {"rejects": tmp_path / "bad.jsonl", "keep": ["c", "d"], "partition_by": partition_by}
    scored, bad = tmp_path / "out", tmp_path / "bad.jsonl"
    opened = session()
    kills = 0
    for step in range(1, 40):
        killer = Killer(step, after=after)
        with monkeypatch.context() as patches:
            patches.setattr(parts.FolderSink, "discard", lambda self: None)
            patches.setattr(PendingFile, "commit", killer.wrap(PendingFile.commit))
            patches.setattr(FilePlace, "remove", killer.wrap(FilePlace.remove))
            restarted = step % 3 == 0  # kills during removals, too
            with contextlib.suppress(Kill):
                sx.score(opened, table, scored, batch_rows=2, restart=restarted, **job)  # type: ignore[arg-type]
        if killer.steps > 0 and not restarted:
            continue
        kills += killer.steps <= 0
        sx.score(opened, table, scored, batch_rows=3, **job)  # type: ignore[arg-type]
        rows = pyarrow.dataset.dataset(scored, partitioning=SCHEMA if partition_by else None).to_table()
        values = [(row["y"], row["c"], row["d"]) for row in rows.to_pylist()]
        expected = [(-float(i), i % 2, "p/q" if i < 6 else None) for i in range(12) if i % 5 != 4]
        assert sorted(values, reverse=True) == expected, step
        assert not list(scored.rglob("*.pending")), step
        assert [json.loads(line)["row"] for line in bad.read_text().splitlines()] == [4, 9], step
        if step % 2:
            shutil.rmtree(scored)
    assert kills >= (10 if partition_by else 8)


def test_a_killed_removal_of_other_partitions_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"a": np.arange(4.0), "c": [0, 1, 0, 1], "d": ["p", "p", "q", "q"]})
    opened, sink = session(), tmp_path / "out"
    layouts: list[list[str]] = [["c", "d"], [], ["d"], ["c", "d"], ["c"], []]
    for step, (earlier, later) in product(range(1, 6), pairwise(layouts)):
        sx.score(opened, table, sink, keep=["c", "d"], partition_by=earlier, restart=True)
        with monkeypatch.context() as patches:
            patches.setattr(FilePlace, "remove", Killer(step, after=False).wrap(FilePlace.remove))
            with contextlib.suppress(Kill):
                sx.score(opened, table, sink, keep=["c", "d"], partition_by=later, restart=True)
        sx.score(opened, table, sink, keep=["c", "d"], partition_by=later)
        files = {str(path.parent.relative_to(sink)) for path in sink.rglob("part-*")}
        rows = zip(table["c"].to_pylist(), table["d"].to_pylist(), strict=True)
        folders = [
            "/".join(f"{name}={value}" for name, value in (("c", c), ("d", d)) if name in later)
            for c, d in rows
        ]
        assert files == {folder or "." for folder in folders}


def test_files_beside_the_partitions_are_neither_removed_nor_read(tmp_path: Path) -> None:
    table = pa.table({"a": [1.0], "c": ["p"]})
    other = tmp_path / "own" / "part-00000.parquet"
    other.parent.mkdir()
    other.write_bytes(b"")
    with pytest.raises(sx.InputError, match=r"it has 'own/part-00000\.parquet' and no record of a job"):
        sx.score(session(), table, tmp_path, keep=["c"], partition_by=["c"])
    other.rename(tmp_path / "part-00000.parquet")
    other.parent.rmdir()
    sx.score(session(), table, tmp_path / "out", keep=["c"], partition_by=["c"])
    other = (tmp_path / "part-00000.parquet").rename(tmp_path / "out" / "part-00000.parquet")
    sx.score(session(), table, tmp_path / "out", keep=["c"], partition_by=["c"])
    assert other.exists()


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl", "arrow"])
def test_complete_parts_are_not_scored_again(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART_ROWS", 3)
    source, sink = tmp_path / f"in.{suffix}", tmp_path / "out"
    sx.score(session(), pa.table({"a": np.arange(10.0)}), source, columns={"a": "a"}, keep=["a"])
    sx.score(session(), source, sink, batch_rows=2)
    last = sorted((sink / "_sardonyx").glob("0*.json"))[-1]
    last.unlink()
    result = sx.score(session(), source, sink, batch_rows=3)
    assert 0 < result.resumed_rows < 10
    assert result.rows == 10
    values = pyarrow.dataset.dataset(sink).to_table()["y"].to_pylist()
    assert values == [-float(i) for i in range(10)]
    assert sx.score(session(), source, sink).resumed_rows == 10


def test_folders_of_other_jobs_are_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.parquet", 3)
    source, sink = tmp_path / "in.parquet", tmp_path / "out"
    defaults = {"a": 1.0}
    sx.score(session(), source, sink, defaults=defaults)
    negated = session("g (float[N] a) => (float[N] y) { y = Abs(a) }")
    with pytest.raises(sx.InputError, match=r"of one with another model: .*--restart"):
        sx.score(negated, source, sink, defaults=defaults)
    with pytest.raises(sx.InputError, match="of one with another options"):
        sx.score(session(), source, sink, nulls="nan")
    with pytest.raises(sx.InputError, match="of one with another source"):
        sx.score(session(), pa.table({"a": [1.0]}), sink, defaults=defaults)
    assert sx.score(negated, source, sink, defaults=defaults, restart=True).resumed_rows == 0
    assert pyarrow.dataset.dataset(sink).to_table()["y"].to_pylist() == [0.0, 1.0, 2.0]


def test_folders_with_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "own.parquet").write_bytes(b"")
    with pytest.raises(sx.InputError, match=r"must be empty or of the same job; it has 'own\.parquet'"):
        sx.score(session(), pa.table({"a": [1.0]}), tmp_path / "out", restart=True)


def test_a_removal_that_was_killed_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = tmp_path / "out"
    sx.score(session(), pa.table({"a": [1.0]}), sink)
    (sink / "_sardonyx" / "job.json").write_text('{"removed": true}')
    assert sx.score(session(), pa.table({"a": [2.0]}), sink).resumed_rows == 0
    assert pyarrow.dataset.dataset(sink).to_table()["y"].to_pylist() == [-2.0]


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    table = pa.table({"a": [1.0, 2.0, None]})
    with pytest.raises(sx.InputError, match="row 2"):
        sx.score(session(), table, tmp_path / "out.parquet", batch_rows=1)
    assert list(tmp_path.iterdir()) == []

"""Outputs that would replace what a job reads."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sardonyx as sx
from models import parse_model

MODEL = "g (float[N] a) => (float[N] y) { y = Neg(a) }"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "table.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"a": [1.0, 2.0]}), path)
    (tmp_path / "link").symlink_to(path.parent, target_is_directory=True)
    return path


@pytest.mark.parametrize(
    ("read", "written", "rejects", "message"),
    [
        ("in/table.parquet", "in/table.parquet", None, "the sink must not be a file of the source"),
        ("in/table.parquet", "link/table.parquet", None, "the sink must not be a file of the source"),
        ("in", "in/out.parquet", None, "the sink must not be in a folder of the source"),
        ("in", "in/out/", None, "the sink must not be in a folder of the source"),
        (
            "in/table.parquet",
            "out.parquet",
            "link/table.parquet",
            "the rejects must not be a file of the source",
        ),
        ("in/table.parquet", "out.jsonl", "out.jsonl", "the sink and the rejects must be apart"),
    ],
)
def test_outputs_lie_apart_from_the_source(
    read: str, written: str, rejects: str | None, message: str, source: Path, tmp_path: Path
) -> None:
    before = source.read_bytes()
    with pytest.raises(sx.InputError, match=message):
        sx.score(
            parse_model(MODEL),
            str(tmp_path / read),
            f"{tmp_path}/{written}",
            rejects=rejects and tmp_path / rejects,
            sink_format="json" if written.endswith("jsonl") else None,
        )
    assert source.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "link"]


def test_names_that_begin_alike_are_apart(source: Path, tmp_path: Path) -> None:
    sx.score(parse_model(MODEL), source, tmp_path / "in/table.parquet2.parquet")
    assert pq.read_table(tmp_path / "in/table.parquet2.parquet")["y"].to_pylist() == [-1.0, -2.0]

"""`sardonyx score`: errors in the words of the command line, its summary, its progress and its rejects."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.cli.output.scoring_progress import describe
from sardonyx._src.score.job.summary import ScoreStatus

MODEL = "g (float[N,2] x) => (float[N,2] y) { y = Neg(x) }"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a model and a table whose row 2 has a null."""
    monkeypatch.chdir(tmp_path)
    sx.save(parse_model(MODEL), "m.onnx")
    pq.write_table(pa.table({"a": [1.0, 2.0, None], "b": [4.0, 5.0, 6.0], "y": [7, 8, 9]}), "in.parquet")
    return tmp_path


def score(words: str, source: str = "in.parquet") -> int:
    return main(["score", "m.onnx", source, "--engine", "reference", *words.split()])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-o -", "requires sink_format (--to), one of parquet, csv,"),
        ("-o out.parquet --batch 0", "--batch must be an integer >= 1; got '0'"),
        ("-o out.parquet --workers many", "--workers must be an integer >= 1; got 'many'"),
        ("-o out.parquet --memory 0", "--memory must be a number of bytes, as 500M or 1G; got '0'"),
        (
            "-o out.parquet --default c=0",
            "defaults (--default) must be of columns that feed the model; got 'c'",
        ),
        ("-o out.parquet --keep y --nulls nan", "leave it out of keep (--keep), or rename the output"),
        ("-o out.parquet --rejects -", "rejects (--rejects) must be a file; got '-'"),
        ("-o out.csv --nulls nan", 'with vectors="columns" (--vectors columns)'),
        ("-o out.parquet", "row 2: column 'a' is null"),
    ],
)
def test_errors_name_the_option(
    words: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score(f"--pack x=a,b {words}") == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["in.parquet", "m.onnx"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("-", "requires source_format (--from)"),
        ("missing.parquet", "the source must exist; there is no 'missing.parquet'"),
        ("missing.csv", "the source must exist; there is no 'missing.csv'"),
        ("m.onnx", "or source_format (--from) must state its format; got '.onnx'"),
    ],
)
def test_sources_that_are_none(
    source: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score("-o out.parquet", source) == 2
    assert message in capsys.readouterr().err


def test_bytes_that_are_no_text_are_no_rows_of_text(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("in.csv").write_bytes(b"a,b\n\xff\xfe,\xcc\n1,2\n")
    assert score("-o out.parquet --pack x=a,b --rejects bad.jsonl", "in.csv") == 0
    assert json.loads(Path("bad.jsonl").read_text())["row"] == 0
    assert pq.read_table("out.parquet")["y"].to_pylist() == [[-1.0, -2.0]]
    assert "Traceback" not in capfd.readouterr().err


def test_the_summary_and_the_rejects(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "--pack x=a,b -o scored/ --rejects bad.jsonl"
    assert score(f"{words} --json") == 0
    captured = capsys.readouterr()
    summary = json.loads(captured.out)
    assert {name: summary[name] for name in ("rows", "rejected", "resumed_rows")} == {
        "rows": 3,
        "rejected": 1,
        "resumed_rows": 0,
    }
    assert captured.err.startswith("written: scored/, bad.jsonl")
    bad = {"row": 2, "reason": "column 'a' is null", "values": {"a": None, "b": 6.0}}
    assert json.loads(Path("bad.jsonl").read_text()) == bad
    assert score(words) == 0
    assert "3 rows, 3 of them earlier, 1 rejected in " in capsys.readouterr().out


def test_progress_has_speed_and_time_left() -> None:
    status = ScoreStatus(rows=2_000, rejected=3, total=10_000, rows_per_second=1_000.0)
    assert describe(status) == "2,000 of 10,000 rows, 3 rejected, 1,000 rows/s, 0:08 left"
    assert describe(ScoreStatus(5, 0, None, 2.5)) == "5 rows, 2 rows/s"


def test_progress_comes_from_the_job(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sardonyx._src.score.job import job as scoring

    monkeypatch.setattr(scoring, "REPORT_SECONDS", 0.0)
    seen: list[ScoreStatus] = []
    options = {"columns": {"x": ["a", "b"]}, "rejects": "bad.jsonl"}
    sx.score("m.onnx", "in.parquet", "out.parquet", batch_rows=1, report=seen.append, **options)  # type: ignore[arg-type]
    assert [(status.rows, status.rejected, status.total) for status in seen] == [
        (1, 0, 3),
        (2, 0, 3),
        (3, 1, 3),
    ]
    assert all(status.rows_per_second > 0 for status in seen)

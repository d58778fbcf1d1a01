"""Formats, folders and streams that scoring reads and writes."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main

MODEL = "g (float[N] a) => (float[N] y) { y = Neg(a) }"
TABLE = pa.table({"a": [1.0, 2.0, 3.0], "id": ["p", "q", "r"]})
NEGATED: dict[str, list[object]] = {"id": ["p", "q", "r"], "y": [-1.0, -2.0, -3.0]}
TEXT = {"csv": b"a,id\n1,p\n2,q\n3,r\n", "json": b'{"a":1,"id":"p"}\n{"a":2,"id":"q"}\n{"a":3,"id":"r"}'}


def session() -> sx.Session:
    return sx.Session(parse_model(MODEL), engine="reference")


def encode(format: str) -> bytes:
    """The table in a format."""
    if format in TEXT:
        return TEXT[format]
    file = io.BytesIO()
    if format == "parquet":
        pq.write_table(TABLE, file)
    else:
        make = pa.ipc.new_file if format == "ipc" else pa.ipc.new_stream
        with make(file, TABLE.schema) as writer:
            writer.write_table(TABLE)
    return file.getvalue()


def decode(data: bytes, format: str) -> dict[str, list[object]]:
    """The columns of a file."""
    match format:
        case "parquet":
            table = pq.read_table(io.BytesIO(data))
        case "csv":
            table = pyarrow.csv.read_csv(io.BytesIO(data))
        case "json":
            table = pa.Table.from_pylist([json.loads(line) for line in data.splitlines()])
        case "ipc":
            table = pa.ipc.open_file(data).read_all()
        case _:
            table = pa.ipc.open_stream(data).read_all()
    columns: dict[str, list[object]] = table.to_pydict()
    return columns


@pytest.mark.parametrize(
    ("suffix", "format"),
    [("parquet", "parquet"), ("csv", "csv"), ("jsonl", "json"), ("arrow", "ipc"), ("arrows", "ipc-stream")],
)
def test_formats_are_those_of_suffixes(suffix: str, format: str, tmp_path: Path) -> None:
    source, sink = tmp_path / f"in.{suffix}", tmp_path / f"out.{suffix}"
    source.write_bytes(encode(format))
    sx.score(session(), source, sink, keep=["id"])
    assert decode(sink.read_bytes(), format) == NEGATED
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("format", ["parquet", "csv", "json", "ipc", "ipc-stream"])
def test_standard_streams(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    sx.save(parse_model(MODEL), tmp_path / "m.onnx")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(encode(format))))
    words = [
        "score",
        str(tmp_path / "m.onnx"),
        "-",
        "-o",
        "-",
        "--from",
        format,
        "--to",
        format,
        "--keep",
        "id",
    ]
    assert main([*words, "--engine", "reference"]) == 0
    assert decode(capfdbinary.readouterr().out, format) == NEGATED


def test_compressed_text(tmp_path: Path) -> None:
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(TEXT["csv"]))
    result = sx.score(session(), tmp_path / "in.csv.gz").table
    assert result is not None and result["y"].to_pylist() == NEGATED["y"]


@pytest.mark.parametrize("format", ["parquet", "csv", "json", "ipc"])
def test_folders_with_partitions(format: str, tmp_path: Path) -> None:
    for number, country in enumerate(["de", "fr"]):
        folder = tmp_path / f"country={country}" / "year=2024"
        folder.mkdir(parents=True)
        (folder / f"part-{number}").write_bytes(encode(format))
    (tmp_path / "_ignored").write_bytes(b"nothing")
    result = sx.score(session(), tmp_path, keep=["country", "year"], source_format=format).table
    assert result is not None
    assert result["country"].to_pylist() == ["de"] * 3 + ["fr"] * 3
    assert set(result["year"].to_pylist()) == {2024}
    assert result["y"].to_pylist() == NEGATED["y"] * 2


def test_csv_has_columns_for_vectors_and_maps(tmp_path: Path) -> None:
    model = parse_model("g (float[N,2] x) => (float[N,2] y) { y = Neg(x) }")
    table, sink = pa.table({"a": [1.0], "b": [2.0]}), tmp_path / "out.csv"
    opened = sx.Session(model, engine="reference")
    with pytest.raises(sx.InputError, match=r"column 'y' must not be of lists.*--vectors columns"):
        sx.score(opened, table, sink)
    assert not sink.exists()
    sx.score(opened, table, sink, vectors="columns")
    assert sink.read_text() == '"y_0","y_1"\n-1,-2\n'


def test_numbers_that_json_lacks_are_strings(tmp_path: Path) -> None:
    model = parse_model("g (float[N] a) => (float[N] y) { y = Log(a) }")
    sink = tmp_path / "out.jsonl"
    sx.score(sx.Session(model, engine="reference"), pa.table({"a": [0.0, -1.0, 1.0]}), sink)
    assert sink.read_text() == '{"y": "-Infinity"}\n{"y": "NaN"}\n{"y": 0.0}\n'


def test_tables_without_rows_have_the_columns_of_results(tmp_path: Path) -> None:
    sx.score(session(), TABLE.slice(0, 0), tmp_path / "out.parquet", keep=["id"])
    table = pq.read_table(tmp_path / "out.parquet")
    assert (table.num_rows, table.column_names) == (0, ["id", "y"])


def test_addresses_of_file_systems(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "in.parquet")
    sx.score(session(), f"file://{tmp_path}/in.parquet", f"file://{tmp_path}/scored/")
    assert pyarrow.dataset.dataset(tmp_path / "scored").to_table()["y"].to_pylist() == NEGATED["y"]


def test_sources_that_cannot_be_read_are_errors(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"no parquet")
    (tmp_path / "empty.csv").write_bytes(b"")
    for name in ("bad.parquet", "missing.parquet", "missing.csv", "empty.csv", "file.xlsx"):
        with pytest.raises(sx.InputError):
            sx.score(session(), tmp_path / name)


@pytest.mark.parametrize("format", ["parquet", "ipc"])
def test_a_stream_of_a_job_that_fails_is_not_complete(
    format: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    table = pa.table({"a": [1.0, 2.0, None]})
    with pytest.raises(sx.InputError, match="row 2"):
        sx.score(session(), table, "-", sink_format=format, batch_rows=1)
    with pytest.raises(pa.ArrowInvalid):
        decode(capfdbinary.readouterr().out, format)


def test_damaged_files_are_errors_that_name_them(tmp_path: Path) -> None:
    rows = pa.table({"a": np.arange(50_000.0)})
    pq.write_table(rows, tmp_path / "in.parquet", compression="snappy", use_dictionary=False)
    data = bytearray((tmp_path / "in.parquet").read_bytes())
    data[1000:3000] = bytes(2000)
    (tmp_path / "in.parquet").write_bytes(data)
    text = gzip.compress(b"a\n" + b"1.25\n" * 1_000_000)
    (tmp_path / "in.csv.gz").write_bytes(text[: len(text) // 2])
    for name in ("in.parquet", "in.csv.gz"):
        with pytest.raises(sx.InputError, match=rf"{name}.* must be readable to its end: "):
            sx.score(session(), tmp_path / name, tmp_path / "out.parquet")
        assert not (tmp_path / "out.parquet").exists()


def test_files_whose_types_differ_too_much_are_errors_that_name_them(tmp_path: Path) -> None:
    for number, column in enumerate((pa.array(["u"]).dictionary_encode(), pa.array(["u"], pa.string_view()))):
        pq.write_table(pa.table({"a": [1.0], "c": column}), tmp_path / f"{number}.parquet")
    with pytest.raises(sx.InputError, match=r"1\.parquet must be readable to its end: .*string_view"):
        sx.score(session(), tmp_path, keep=["c"])

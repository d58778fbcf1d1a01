"""Sources and sinks that fail: errors have types and name the place, and nothing half written stays."""

from __future__ import annotations

import datetime
import decimal
import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.tables.places import FilePlace

ROWS = 20_000
FULL_BYTES = 20_000  # of a disk
SUFFIXES = {"parquet": "parquet", "csv": "csv", "json": "jsonl", "ipc": "arrow", "ipc-stream": "arrows"}
FORMATS = list(SUFFIXES)


def session(type: str = "float[N]") -> sx.Session:
    """A model that returns its input."""
    return sx.Session(parse_model(f"g ({type} x) => ({type} y) {{ y = Identity(x) }}"), engine="reference")


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can have more than `FULL_BYTES`: writing more is an error of the file system."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FULL_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of small files need not reach the disk."""
    monkeypatch.setattr("os.fsync", lambda file: None)


def pending_files(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*.pending")]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("sink", ["out", "out/"])
def test_a_full_disk_is_an_error_that_names_the_file(format: str, sink: str, tmp_path: Path) -> None:
    table = pa.table({"x": np.random.default_rng(0).random(ROWS)})
    path = f"{tmp_path / 'out'}/" if sink.endswith("/") else tmp_path / f"out.{format}"
    with full_disk(), pytest.raises(OSError, match="too large") as caught:
        sx.score(session(), table, path, sink_format=format)
    assert "out" in str(caught.value.filename)
    assert not pending_files(tmp_path)
    sx.score(session(), table, path, sink_format=format)


def test_a_full_disk_for_rejects_and_records(tmp_path: Path) -> None:
    table = pa.table({"x": [None] * ROWS}, pa.schema({"x": pa.float64()}))
    for sink in (None, tmp_path / "out.csv", f"{tmp_path / 'parts'}/"):
        with full_disk(), pytest.raises(OSError, match="too large"):
            sx.score(session(), table, sink, rejects=tmp_path / "bad.jsonl")
        assert not pending_files(tmp_path)
    with full_disk(), pytest.raises(OSError, match="too large"):
        FilePlace.of(tmp_path / "record.json").write_bytes(bytes(2 * FULL_BYTES))
    assert not pending_files(tmp_path)


def test_a_job_that_ends_before_it_begins_leaves_no_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        sx.score(
            session(), pa.table({"x": [1.0]}), tmp_path / "out.csv", rejects=tmp_path / "file" / "bad.jsonl"
        )
    assert not pending_files(tmp_path)


@pytest.mark.parametrize("sink", ["out.csv", "out.parquet"])
def test_columns_that_a_format_lacks_are_errors_that_name_the_file(sink: str, tmp_path: Path) -> None:
    far = pa.array([2**62], pa.timestamp("s")) if sink.endswith("parquet") else pa.array([b"\xff"])
    kept = far if sink.endswith("parquet") else pa.array([pa.MonthDayNano([1, 2, 3])])
    with pytest.raises(sx.InputError, match=rf"the columns of .*{sink} must be such that .* can hold them"):
        sx.score(session(), pa.table({"x": [1.0], "k": kept}), tmp_path / sink, keep=["k"])
    assert not pending_files(tmp_path)


def test_names_of_columns_that_are_no_utf_8_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"x": [1.0], "zz": ["a"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"zz", b"z\xc2"))
    with pytest.raises(sx.InputError, match=r"names of columns must be UTF-8; got b'z\\xc2'"):
        sx.score(session(), path)


BAD_TEXT = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], np.int32).tobytes()), pa.py_buffer(b"a\xff")]
)


@pytest.mark.parametrize("column", [BAD_TEXT, BAD_TEXT.dictionary_encode()], ids=["plain", "dictionary"])
def test_texts_that_are_no_utf_8_are_bad_rows(column: pa.Array, tmp_path: Path) -> None:
    with pytest.raises(sx.InputError, match=r"row 1: column 'x': .*UTF8"):
        sx.score(session("string[N]"), pa.table({"x": column}))
    table = sx.score(session("string[N]"), pa.table({"x": column}), rejects=tmp_path / "bad").table
    assert table is not None and table["y"].to_pylist() == ["a"]
    assert json.loads((tmp_path / "bad").read_text())["values"] == {"x": "\ufffd"}


def test_values_that_python_lacks_are_texts_in_json(tmp_path: Path) -> None:
    kept = {
        "far": pa.array([2**31 - 1], pa.int32()).view(pa.date32()),
        "nano": pa.array([1], pa.timestamp("ns")),
    }
    sx.score(session(), pa.table({"x": [1.0], **kept}), tmp_path / "out.jsonl", keep=["far", "nano"])
    row = json.loads((tmp_path / "out.jsonl").read_text())
    assert row == {
        "far": "<value out of range: 2147483647>",
        "nano": "1970-01-01 00:00:00.000000001",
        "y": 1.0,
    }


def test_results_that_arrow_lacks_are_errors() -> None:
    with pytest.raises(
        sx.OutputError, match="output 'y' must hold elements that Arrow has a type for; got complex64"
    ):
        sx.score(
            sx.Session(
                parse_model(
                    "g (int64[N] x) => (complex64[N] y) <complex64[2] c = {1, 0, 0, 1}> { y = Gather(c, x) }"
                ),
                engine="reference",
            ),
            pa.table({"x": [0, 1]}),
        )


class Frame:
    """A data frame that does not convert."""

    def __arrow_c_stream__(self, schema: object = None) -> object:
        raise ZeroDivisionError("no columns")


def test_data_frames_that_do_not_convert_are_errors() -> None:
    for score in (sx.Scorer(session()).score, sx.Predictor(session()).predict):
        with pytest.raises(sx.InputError, match="got Frame: no columns"):
            score(Frame())


DAY = datetime.date(1970, 1, 2)
COLUMNS: dict[str, pa.Array] = {
    "uint64": pa.array([2**64 - 1, 1], pa.uint64()),
    "decimal": pa.array([decimal.Decimal("1.5"), decimal.Decimal(2)]),
    "null": pa.nulls(2),
    "text": pa.array(["1", "b"]),
    "text view": pa.array(["1", "b"], pa.string_view()),
    "bytes": pa.array([b"1", b"\xff"]),
    "byte views": pa.array([b"1", b"2"], pa.binary_view()),
    "invalid text": BAD_TEXT,
    "far days": pa.array([2**31 - 1, -(2**31)], pa.int32()).view(pa.date32()),
    "parts of days": pa.array([86_400_500, 1]).view(pa.date64()),
    "seconds": pa.array([2**62, -5], pa.timestamp("s")),
    "nanoseconds": pa.array([2**62, 5], pa.duration("ns")),
    "times": pa.array([5, 6], pa.time64("ns")),
    "intervals": pa.array([pa.MonthDayNano([1, 2, 3])] * 2),
    "structs": pa.array([{"a": 1}] * 2),
    "maps": pa.array([[("a", 1)]] * 2, pa.map_(pa.string(), pa.int64())),
    "unions": pa.UnionArray.from_sparse(
        pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]
    ),
}


def nested(column: pa.Array) -> Iterator[pa.Array]:
    """A column, and the same elements in encodings and in lists, each also with a null."""
    offsets, ones = pa.array([0, 1, 2], pa.int32()), pa.array([1, 1], pa.int32())
    columns = [
        column,
        pa.ListArray.from_arrays(offsets, column),
        pa.FixedSizeListArray.from_arrays(column, 1),
    ]
    columns.append(pa.ListViewArray.from_arrays(pa.array([0, 1], pa.int32()), ones, column))
    for encode in (pc.dictionary_encode, pc.run_end_encode):
        try:
            columns.append(encode(column))
        except (pa.ArrowException, NotImplementedError):
            continue  # no such encoding of these elements
    for each in columns:
        yield each
        with suppress(pa.ArrowNotImplementedError):
            yield pa.concat_arrays([each, pa.nulls(1, each.type)])


SESSIONS = {type: session(type) for type in ("float[N]", "int64[N]", "string[N]", "float[N,T]")}
OPTIONS: list[dict[str, object]] = [{}, {"nulls": "nan"}, {"defaults": {"x": 1}}]


@pytest.mark.parametrize("name", COLUMNS)
def test_every_column_is_fed_or_an_error_with_a_type(name: str, tmp_path: Path) -> None:
    for column in nested(COLUMNS[name]):
        table = pa.table({"x": column})
        for opened in SESSIONS.values():
            for options in (*OPTIONS, {"rejects": tmp_path / "bad.jsonl"}):
                with suppress(sx.SardonyxError):
                    sx.score(opened, table, batch_rows=3, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", COLUMNS)
def test_every_column_is_kept_or_an_error_with_a_type(name: str, tmp_path: Path) -> None:
    for column in nested(COLUMNS[name]):
        table = pa.table({"x": pa.array([1.0] * len(column)), "k": column})
        for format in FORMATS:
            with suppress(sx.SardonyxError):
                sx.score(
                    SESSIONS["float[N]"],
                    table,
                    tmp_path / "out",
                    keep=["k"],
                    sink_format=format,
                    restart=True,
                )
            assert not pending_files(tmp_path)

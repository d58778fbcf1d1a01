"""Columns of CSV and JSON lines, and names of folders: the types of the inputs that they feed decide how they are read, exactly."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.tables import text_tables


def score(path: Path, type: str, text: str, **options: object) -> pa.Table:
    """The result of a model that returns its input, for a file with a text."""
    path.write_text(text)
    session = sx.Session(
        parse_model(f"g ({type}[N] x) => ({type}[N] y) {{ y = Identity(x) }}"), engine="reference"
    )
    table = sx.score(session, path, **options).table  # type: ignore[arg-type]
    assert table is not None
    return table


def text_of(suffix: str, values: list[str]) -> str:
    """Values as they are written, in the column x."""
    return (
        "\n".join(["x", *values])
        if suffix == "csv"
        else "\n".join(f'{{"x": {value}, "id": "p"}}' for value in values)
    )


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("type", "values", "expected"),
    [
        ("int64", ["9007199254740993", "1.0"], [2**53 + 1, 1]),
        ("int64", ["1e3", "-9223372036854775808.0"], [1000, -(2**63)]),
        ("uint64", ["12345678901234567890"], [12345678901234567890]),
        ("uint64", ["18446744073709551615", "2.0"], [2**64 - 1, 2]),
        ("int8", ["-128", "127.0"], [-128, 127]),
        ("double", ["9007199254740993", "0.5"], [2.0**53, 0.5]),
    ],
)
def test_numbers_are_read_exactly(
    suffix: str, type: str, values: list[str], expected: list[float], tmp_path: Path
) -> None:
    table = score(tmp_path / f"in.{suffix}", type, text_of(suffix, values))
    assert table["y"].to_pylist() == expected


def test_integers_in_lists_are_read_exactly(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"x": [9007199254740993, 1.0]}\n')
    model = parse_model("g (int64[N,2] x) => (int64[N,2] y) { y = Identity(x) }")
    table = sx.score(sx.Session(model, engine="reference"), tmp_path / "in.jsonl").table
    assert table is not None and table["y"].to_pylist() == [[2**53 + 1, 1]]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_numbers_that_integers_are_not_are_bad_rows(suffix: str, tmp_path: Path) -> None:
    values = ["1", "1.5", "18446744073709551616", "2.0"]
    values += ['"3"', "true"] if suffix == "jsonl" else ["three", "true"]
    bad = tmp_path / "bad.jsonl"
    table = score(tmp_path / f"in.{suffix}", "uint64", text_of(suffix, values), rejects=bad)
    assert table["y"].to_pylist() == [1, 2]
    assert len(bad.read_text().splitlines()) == 4
    with pytest.raises(sx.InputError, match=r"row 1: .*(invalid value '1.5'|1\.5)"):
        score(tmp_path / f"in.{suffix}", "uint64", text_of(suffix, values))


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "values", [["007", "10"], ["true", "no"], ["2026-01-01"], ["12:30:00"], ["1.50"], ["", "1"]]
)
def test_texts_stay_as_they_are_written(suffix: str, values: list[str], tmp_path: Path) -> None:
    written = values if suffix == "csv" else [f'"{value}"' for value in values]
    written = [value or '""' for value in written]
    table = score(tmp_path / f"in.{suffix}", "string", text_of(suffix, written), keep=["x"])
    assert table["y"].to_pylist() == table["x"].to_pylist() == values


def test_texts_may_follow_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables, "BLOCK_BYTES", 16)
    table = score(tmp_path / "in.csv", "string", text_of("csv", [*"1234567890", "a"]))
    assert table["y"].to_pylist() == [*"1234567890", "a"]


def test_numbers_of_json_are_no_texts(tmp_path: Path) -> None:
    with pytest.raises(sx.InputError, match="column 'x' must hold string; got int64"):
        score(tmp_path / "in.jsonl", "string", '{"x": 7}\n')


def test_columns_that_a_job_does_not_read_may_hold_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_tables, "BLOCK_BYTES", 16)
    table = score(tmp_path / "in.csv", "float", "x,n\n" + "1,1\n" * 10 + "2,a\n")
    assert table["y"].to_pylist() == [1.0] * 10 + [2.0]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_large_integers_of_kept_columns_are_exact(suffix: str, tmp_path: Path) -> None:
    texts = {
        "csv": "x,id\n1.5,18446744073709551615\n2,5\n",
        "jsonl": '{"x": 1.5, "id": 18446744073709551615}\n{"x": 2, "id": 5}\n',
    }
    table = score(tmp_path / f"in.{suffix}", "float", texts[suffix], keep=["id"])
    assert table["id"].to_pylist() == [2**64 - 1, 5]


def test_integers_beside_lines_that_do_not_parse_are_exact(tmp_path: Path) -> None:
    lines = ['{"x": 1, "id": 9007199254740993}', '{"x": "one", "id": 1}', '{"x": 2.5, "id": 2}']
    table = score(
        tmp_path / "in.jsonl", "float", "\n".join(lines), keep=["id"], rejects=tmp_path / "bad.jsonl"
    )
    assert table.to_pydict() == {"id": [2**53 + 1, 2], "y": [1.0, 2.5]}


def write_rows(path: Path) -> None:
    """A file of one row, whose column `id` holds p."""
    match path.suffix:
        case ".csv":
            path.write_text("id\np\n")
        case ".jsonl":
            path.write_text('{"id": "p"}\n')
        case ".parquet":
            pq.write_table(pa.table({"id": ["p"]}), path)
        case ".arrow":
            feather.write_feather(pa.table({"id": ["p"]}), path)


FORMATS = {"csv": "csv", "jsonl": "json", "parquet": "parquet", "arrow": "ipc"}


@pytest.mark.parametrize("suffix", FORMATS)
def test_partitions_are_read_as_the_input_has_them(suffix: str, tmp_path: Path) -> None:
    folder = tmp_path / "x=007"
    folder.mkdir()
    write_rows(folder / f"a.{suffix}")
    for type, expected in (("string", "007"), ("int64", 7), ("float", 7.0)):
        model = parse_model(f"g ({type}[N] x) => ({type}[N] y) {{ y = Identity(x) }}")
        table = sx.score(
            sx.Session(model, engine="reference"),
            tmp_path,
            source_format=FORMATS[suffix],
        ).table
        assert table is not None and table["y"].to_pylist() == [expected]


@pytest.mark.parametrize("suffix", FORMATS)
def test_partitions_that_an_input_does_not_take_are_errors(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "x=low").mkdir()
    write_rows(tmp_path / "x=low" / f"a.{suffix}")
    model = parse_model("g (float[N] x) => (float[N] y) { y = Identity(x) }")
    with pytest.raises(sx.InputError, match=r"column.* folders of the source name.* must hold .*double"):
        sx.score(sx.Session(model, engine="reference"), tmp_path, source_format=FORMATS[suffix])


@pytest.mark.parametrize("suffix", FORMATS)
def test_partitions_are_what_they_are_fed_as_and_what_is_kept_of_them(suffix: str, tmp_path: Path) -> None:
    """Zip codes: of two that look like integers, a model of strings has one, and nulls stay apart from texts."""
    for value in ("01234", "12345", "__HIVE_DEFAULT_PARTITION__"):
        folder = tmp_path / "in" / f"zip={value}" / "year=2024"
        folder.mkdir(parents=True)
        write_rows(folder / f"a.{suffix}")
    model = parse_model("g (string[N] zip) => (string[N] y) { y = Identity(zip) }")
    options = {"keep": ["zip", "year"], "source_format": FORMATS[suffix], "rejects": tmp_path / "bad.jsonl"}
    table = sx.score(sx.Session(model, engine="reference"), tmp_path / "in", **options).table  # type: ignore[arg-type]
    assert table is not None
    rows = {"zip": ["01234", "12345"], "year": [2024, 2024], "y": ["01234", "12345"]}
    assert table.to_pydict() == rows


def test_every_csv_file_has_the_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,id\n1,p\n")
    (tmp_path / "b.csv").write_text("X,id\n1,p\n")
    model = parse_model("g (float[N] x) => (float[N] y) { y = Identity(x) }")
    with pytest.raises(sx.InputError, match="must have the column 'x'; one has X, id"):
        sx.score(sx.Session(model, engine="reference"), tmp_path, source_format="csv")


def test_a_header_that_is_no_utf_8_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("x,größe\n1,2\n".encode("latin-1"))
    model = parse_model("g (float[N] x) => (float[N] y) { y = Identity(x) }")
    with pytest.raises(sx.InputError, match=r"must begin with a row that parses: .*utf-8"):
        sx.score(sx.Session(model, engine="reference"), tmp_path, source_format="csv")

"""Folders of hive partitions as sinks: what pyarrow reads from them, and which columns and values are refused."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.score.results import part_files, parts
from sardonyx._src.tables.places import FilePlace

MODEL = "g (float[N] a) => (float[N] y) { y = Neg(a) }"
DAY = datetime.date(2026, 11, 23)
TEXTS = [
    "fr",
    "a b",
    "a/b",
    "a=b",
    "50%",
    "a%2Fb",
    "é✓",
    "",
    "..",
    ".",
    "_x",
    "a\\b",
    "a\nb",
    "12",
    "x" * 250,
]


def session(text: str = MODEL) -> sx.Session:
    return sx.Session(parse_model(text), engine="reference")


def rows_of(folder: Path, format: str, *fields: tuple[str, pa.DataType]) -> list[dict[str, object]]:
    """The rows that pyarrow reads, in the order of y, from the greatest on."""
    partitioning = ds.partitioning(pa.schema(fields), flavor="hive")
    table = ds.dataset(folder, format=format, partitioning=partitioning).to_table()
    rows: list[dict[str, object]] = table.sort_by([("y", "descending")]).to_pylist()
    return rows


def test_texts_come_back_and_stay_in_the_folder(tmp_path: Path) -> None:
    texts = [*TEXTS, "nul\0", None]
    table = pa.table({"a": np.arange(len(texts), dtype=np.float32), "text": texts})
    sx.score(session(), table, tmp_path / "out", keep=["text"], partition_by=["text"])
    expected = [{"y": -float(i), "text": text} for i, text in enumerate(texts)]
    assert rows_of(tmp_path / "out", "parquet", ("text", pa.string())) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    folders = {path.name for path in (tmp_path / "out").iterdir()}
    assert len(folders) == len(texts) + 1
    assert {"text=a%2Fb", "text=..", "text=", "text=__HIVE_DEFAULT_PARTITION__", "_sardonyx"} <= folders


def test_folders_differ_without_their_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FilePlace, "ignores_case", lambda self: True)
    texts = ["a", "A", "J", "j", "a/b", "A/b", ".", "..", "a.", "%2f", "%2F", "é", "É", None]
    table = pa.table({"a": np.arange(len(texts), dtype=np.float32), "text": texts})
    sx.score(session(), table, tmp_path, keep=["text"], partition_by=["text"])
    expected = [{"y": -float(i), "text": text} for i, text in enumerate(texts)]
    assert rows_of(tmp_path, "parquet", ("text", pa.string())) == expected
    folders = [path.name.lower() for path in tmp_path.glob("text=*")]
    assert len(set(folders)) == len(texts)
    assert not any(folder.endswith(".") for folder in folders)


def test_file_systems_whose_names_have_case(tmp_path: Path) -> None:
    (tmp_path / "_records").mkdir()
    assert not FilePlace.of(tmp_path / "_records").ignores_case()
    (tmp_path / "_RECORDS").mkdir()  # as it is found where case is ignored
    assert FilePlace.of(tmp_path / "_records").ignores_case()


def test_folders_are_those_that_pyarrow_writes(tmp_path: Path) -> None:
    table = pa.table(
        {
            "a": np.zeros(len(TEXTS), np.float32),
            "text": TEXTS,
            "truth": [i % 2 == 0 for i in range(len(TEXTS))],
            "day": [DAY - datetime.timedelta(1000 * i) for i in range(len(TEXTS))],
            "number": range(-3, len(TEXTS) - 3),
        }
    )
    names = ["text", "truth", "day", "number"]
    sx.score(session(), table, tmp_path / "ours", keep=names, partition_by=names)
    schema = pa.schema([table.schema.field(name) for name in names])
    ds.write_dataset(
        table, tmp_path / "pyarrow", format="parquet", partitioning=ds.partitioning(schema, flavor="hive")
    )
    ours, theirs = (
        {str(path.parent.relative_to(tmp_path / name)) for path in (tmp_path / name).rglob("part*")}
        for name in ("ours", "pyarrow")
    )
    assert ours == theirs and len(ours) == len(TEXTS)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([3, None, 3, -1], pa.int8()),
        pa.array([2**63, None, 2**63, 0], pa.uint64()),
        pa.array([True, None, True, False]),
        pa.array([DAY, None, DAY, datetime.date(1, 1, 1)]),
        pa.array([DAY, None, DAY, datetime.date(1, 1, 1)], pa.date64()),
        pa.array(["p", None, "p", "q"], pa.large_string()),
        pa.array(["p", None, "p", "q"], pa.string_view()),
        pa.array(["p", None, "p", "q"]).dictionary_encode(),
        pa.array([3, None, 3, -1]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type).split(",")[0],
)
def test_types_of_partitions(column: pa.Array, tmp_path: Path) -> None:
    table = pa.table({"a": np.arange(4, dtype=np.float32), "c": column})
    sx.score(session(), table, tmp_path, keep=["c"], partition_by=["c"], batch_rows=2)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    kind = pa.string() if kind == pa.string_view() else pa.date32() if kind == pa.date64() else kind
    rows = rows_of(tmp_path, "parquet", ("c", kind))
    assert [row["c"] for row in rows] == column.to_pylist()
    assert len(list(tmp_path.glob("c=*/part-00000.parquet"))) == 3


@pytest.mark.parametrize("format", ["parquet", "csv", "json", "ipc"])
def test_sources_have_the_values_of_partitions(format: str, tmp_path: Path) -> None:
    values = {"text": ["a/b", "50%", "12", None], "number": [-3, None, 12, 7]}
    table = pa.table({"a": [0.0, 1.0, 2.0, 3.0], **values})
    names = ["text", "number"]
    sx.score(session(), table, tmp_path, keep=names, partition_by=names, sink_format=format)
    columns = {"a": "y"}
    result = sx.score(session(), tmp_path, columns=columns, keep=names, source_format=format).table
    assert result is not None
    assert result.sort_by("y").select(names).to_pydict() == values


@pytest.mark.parametrize(
    ("format", "suffix"),
    [("parquet", "parquet"), ("csv", "csv"), ("json", "jsonl"), ("ipc", "arrow"), ("ipc-stream", "arrows")],
)
def test_formats_and_columns(format: str, suffix: str, tmp_path: Path) -> None:
    """An output and a kept column are partitions, and in no file."""
    model = "g (float[N] a) => (float[N] y, int64[N,1] label) { y = Neg(a) label_ = Cast<to = 7>(a) axes = Constant<value_ints = [1]>() label = Unsqueeze(label_, axes) }"
    table = pa.table({"a": [0.0, 1.0, 1.0, 0.0], "c": ["p", "p", "p", None], "id": [5, 6, 7, 8]})
    sx.score(
        session(model), table, tmp_path, keep=["c", "id"], partition_by=["c", "label"], sink_format=format
    )
    parted = {
        "c=p/label=0": {"id": [5], "y": [0.0]},
        "c=p/label=1": {"id": [6, 7], "y": [-1.0, -1.0]},
        "c=__HIVE_DEFAULT_PARTITION__/label=0": {"id": [8], "y": [0.0]},
    }
    assert len(list(tmp_path.rglob("part-*"))) == len(parted)
    for folder, columns in parted.items():
        file = tmp_path / folder / f"part-00000.{suffix}"
        if format == "ipc-stream":
            table = pa.ipc.open_stream(file.read_bytes()).read_all()
        else:
            table = ds.dataset(file, format=format).to_table()
        assert table.to_pydict() == columns


def test_parts_end_before_their_rows_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_files, "BUFFER_BYTES", 100)
    table = pa.table({"a": np.arange(64, dtype=np.float32), "c": np.arange(64) % 2})
    sx.score(session(), table, tmp_path, keep=["c"], partition_by=["c"], batch_rows=10)
    assert len(list(tmp_path.glob("c=0/part-*.parquet"))) == 7  # each batch has 120 bytes
    assert [row["c"] for row in rows_of(tmp_path, "parquet", ("c", pa.int64()))] == [0, 1] * 32


def test_the_combinations_of_a_part_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def score(rows: int, restart: bool = False) -> int:
        table = pa.table({"a": np.zeros(rows, np.float32), "c": range(rows)})
        job = {"keep": ["c"], "partition_by": ["c"], "batch_rows": 500, "restart": restart}
        return sx.score(session(), table, tmp_path, **job).rows  # type: ignore[arg-type]

    with pytest.raises(sx.InputError, match=r"--partition-by\) must have at most 1,024 .*; got 1,025"):
        score(1025)
    assert list(tmp_path.glob("c=*")) == []
    assert score(1024, restart=True) == 1024
    assert len(list(tmp_path.glob("c=*/*.parquet"))) == 1024
    monkeypatch.setattr(parts, "PART_ROWS", 1000)
    assert score(1025, restart=True) == 1025


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("d", "must be columns of the result; got 'd'"),
        ("a", "must be columns of the result; got 'a'.*columns of the source are in it with keep (--keep)"),
        ("y", "strings, integers, truth values or dates; got 'y' of type float"),
        ("real", "strings, integers, truth values or dates; got 'real' of type double"),
        ("list", "strings, integers, truth values or dates; got 'list' of type list"),
        ("time", "strings, integers, truth values or dates; got 'time' of type timestamp"),
        ("c,c", "must name a column once; got 'c' twice"),
        ("x/y", "must be columns whose names begin with neither '.' nor '_' and have no '/'"),
        ("_x", "must be columns whose names begin with neither"),
        ("", "must be columns whose names begin with neither"),
    ],
)
def test_columns_that_are_no_partitions_are_refused(columns: str, message: str, tmp_path: Path) -> None:
    table = pa.table(
        {"a": [1.0], "c": [1], "real": [0.5], "list": [[1]], "time": [datetime.datetime(2026, 11, 23)]}
    )
    kept = ["c", "real", "list", "time"]
    with pytest.raises(sx.InputError, match=r"--partition-by\) must") as error:
        sx.score(session(), table, tmp_path / "out", keep=kept, partition_by=columns.split(","))
    assert re.search(message.replace("(", r"\(").replace(")", r"\)"), str(error.value))
    assert not (tmp_path / "out").exists()


def test_columns_whose_types_only_results_tell_are_refused(tmp_path: Path) -> None:
    model = parse_model("g (float[N,2] x) => (int64[N,2] y) { y = Cast<to = 7>(x) }")
    opened, table = sx.Session(model, engine="reference"), pa.table({"a": [1.0], "b": [2.0]})
    with pytest.raises(
        sx.InputError, match="strings, integers, truth values or dates; got 'y' of type fixed_size"
    ):
        sx.score(opened, table, tmp_path, partition_by=["y"], keep=["a"])
    sx.score(opened, table, tmp_path, partition_by=["y_1"], vectors="columns", restart=True)
    assert ds.dataset(tmp_path, partitioning="hive").to_table().to_pylist() == [{"y_0": 1, "y_1": 2}]
    with pytest.raises(sx.InputError, match=r"must be columns of the result; got 'y_2'.*'y_0'|y_2"):
        sx.score(opened, table, tmp_path, partition_by=["y_2"], vectors="columns", restart=True)


def test_a_column_is_left_for_the_files(tmp_path: Path) -> None:
    model = "g (float[N] a) => (int64[N] y) { y = Cast<to = 7>(a) }"
    with pytest.raises(sx.InputError, match="must leave a column for the files; got all of them: y"):
        sx.score(session(model), pa.table({"a": [1.0]}), tmp_path / "out", partition_by=["y"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__HIVE_DEFAULT_PARTITION__", "which stands for null"),
        ("__hive_default_partition__", "for null"),
        ("é" * 50, "folders of at most 255 bytes"),
    ],
)
def test_texts_that_folders_cannot_have_are_refused(text: str, message: str, tmp_path: Path) -> None:
    table = pa.table({"a": [1.0], "c": [text]})
    with pytest.raises(sx.InputError, match=rf"column 'c' of .*--partition-by.*{message}"):
        sx.score(session(), table, tmp_path, keep=["c"], partition_by=["c"])
    assert [path.name for path in tmp_path.iterdir()] == ["_sardonyx"]


@pytest.mark.parametrize("sink", ["out.parquet", "-", None])
def test_other_sinks_than_folders_are_refused(sink: str | None, tmp_path: Path) -> None:
    path = sink if sink in ("-", None) else str(tmp_path / sink)
    with pytest.raises(sx.InputError, match=r"\(--partition-by\) requires a folder .*as 'scored/'"):
        sx.score(session(), pa.table({"a": [1.0]}), path, partition_by=["c"], sink_format="csv")
    assert list(tmp_path.iterdir()) == []


def test_folders_of_other_partitions_are_refused(tmp_path: Path) -> None:
    table = pa.table({"a": [1.0], "c": [1], "d": [2]})
    layouts: list[list[str]] = [["c"], ["d"], ["c", "d"], ["d", "c"], []]
    for layout in layouts:
        sx.score(session(), table, tmp_path, keep=["c", "d"], partition_by=layout, restart=True)
        for other in layouts:
            if other != layout:
                with pytest.raises(sx.InputError, match=r"of one with another partition_by: .*--restart"):
                    sx.score(session(), table, tmp_path, keep=["c", "d"], partition_by=other)


def test_a_text_is_no_list_of_columns(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="partition_by"):
        sx.score(session(), pa.table({"a": [1.0]}), tmp_path, partition_by="c")


def test_tables_without_rows_have_no_files(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([], pa.float32()), "c": pa.array([], pa.string())})
    for resumed in (0, 0):
        assert sx.score(session(), table, tmp_path, keep=["c"], partition_by=["c"]).resumed_rows == resumed
    assert [path.name for path in tmp_path.iterdir()] == ["_sardonyx"]


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sx.save(parse_model(MODEL), "m.onnx")
    Path("in.csv").write_text("a,country,day\n0,fr,2026-11-20\n1,fr,2026-11-21\n2,fr,2026-11-20\n")
    words = "score m.onnx in.csv --engine reference --keep country --keep day --partition-by country,day -o"
    assert main([*words.split(), "out/"]) == 0
    assert sorted(str(path) for path in Path("out").glob("c*/*/*")) == [
        f"out/country=fr/day=2026-11-2{i}/part-00000.parquet" for i in range(2)
    ]
    assert main([*words.split(), "out.csv"]) == 2
    assert "--partition-by" in capsys.readouterr().err

"""Scoring of files and tables: which columns feed the model, and what is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main

SUM = "g (float[N] a, float[N] b) => (float[N] s) { s = Add(a, b) }"
PACKED = """g (float[N,2] x) => (float[N,2] y, float[N,1] t) <int64[1] axes = {1}> {
    y = Neg(x) t = ReduceSum(x, axes) }"""


def session(text: str) -> sx.Session:
    return sx.Session(parse_model(text), engine="reference")


def numbers(rows: int = 10) -> pa.Table:
    return pa.table({"a": np.arange(rows, dtype=np.float32), "b": np.arange(rows) * 10.0})


def test_columns_feed_the_inputs_of_their_names(tmp_path: Path) -> None:
    pq.write_table(numbers(), tmp_path / "in.parquet")
    result = sx.score(session(SUM), tmp_path / "in.parquet", tmp_path / "out.parquet", keep=["b"])
    table = pq.read_table(tmp_path / "out.parquet")
    assert (result.rows, result.rejected) == (10, 0)
    assert table.column_names == ["b", "s"]
    assert table["s"].to_pylist() == [11.0 * i for i in range(10)]


def test_columns_are_mapped() -> None:
    table = pa.table({"years": [1.0], "b": [2.0]})
    result = sx.score(session(SUM), table, columns={"a": "years"}).table
    assert result is not None and result["s"].to_pylist() == [3.0]


def test_numeric_columns_are_packed_into_the_only_input() -> None:
    table = pa.table({"a": [1, 2], "name": ["x", "y"], "b": [0.5, 1.5]})
    result = sx.score(session(PACKED), table).table
    assert result is not None
    assert result["y"].to_pylist() == [[-1.0, -0.5], [-2.0, -1.5]]
    assert result["t"].to_pylist() == [1.5, 3.5]
    reverse = sx.score(
        session(PACKED), table, columns={"x": ["b", "a"]}, vectors="columns", outputs=["y"]
    ).table
    assert reverse is not None
    assert reverse.to_pydict() == {"y_0": [-0.5, -1.5], "y_1": [-1.0, -2.0]}


def test_inputs_without_a_column_are_errors_that_say_what_to_write() -> None:
    with pytest.raises(sx.InputError, match=r"input 'a' must have a column.*--map COLUMN=a"):
        sx.score(session(SUM), pa.table({"b": [1.0], "c": ["text"]}))
    with pytest.raises(sx.InputError, match="the table has no column 'B'; the columns are 'a', 'b'"):
        sx.score(session(SUM), numbers(), columns={"b": "B"})


@pytest.mark.parametrize("batch_rows", [1, 3, 64])
@pytest.mark.parametrize("workers", [1, 3])
def test_results_depend_neither_on_batches_nor_on_workers(
    batch_rows: int, workers: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(5, 7)).astype(np.float32)
    builder = sx.Builder(opset=21)
    x = builder.input("x", "float32", ["N", 5])
    model = builder.model(y=builder.Softmax(builder.Tanh(builder.MatMul(x, weights)), axis=-1))
    rows = rng.normal(size=(50, 5)).astype(np.float32)
    pq.write_table(
        pa.table({f"c{i}": rows[:, i] for i in range(5)}), tmp_path / "in.parquet", row_group_size=16
    )
    expected = sx.Session(model, threads=1).run({"x": rows})["y"]
    result = sx.score(model, tmp_path / "in.parquet", batch_rows=batch_rows, workers=workers).table
    assert result is not None
    np.testing.assert_array_equal(np.array(result["y"].to_pylist(), np.float32), expected)


def test_the_command_line_scores_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, source, sink = (str(tmp_path / name) for name in ("m.onnx", "in.parquet", "out.parquet"))
    sx.save(parse_model(SUM), model)
    pq.write_table(pa.table({"years": [1.0, 2.0], "b": [3.0, None]}), source)
    words = ["score", model, source, "-o", sink, "--map", "years=a", "--engine", "reference", "--json"]
    assert main(words) == 2
    assert "row 1: column 'b' is null" in capsys.readouterr().err
    assert not (tmp_path / "out.parquet").exists()
    assert main([*words, "--default", "b=5"]) == 0
    assert pq.read_table(sink)["s"].to_pylist() == [4.0, 7.0]
    assert json.loads(capsys.readouterr().out)["rows"] == 2

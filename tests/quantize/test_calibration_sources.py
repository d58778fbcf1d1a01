"""Calibration data in files and tables: each kind gives the runs of the arrays that it holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.cli.main import main
from sardonyx._src.ir import Array
from sardonyx._src.quantize.calibration import ROWS, calibration_data

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")
parquet = pytest.importorskip("pyarrow.parquet")

NUMBERS = np.random.default_rng(3).standard_normal((ROWS + 8, 3)).round(3).astype(np.float32)
COLUMNS = {name: NUMBERS[:, i] for i, name in enumerate("abc")}
PIXELS = np.random.default_rng(4).integers(0, 256, (3, 3, 4, 5), np.uint8)


def model() -> sx.Model:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 3])
    return b.model(y=x @ np.eye(3, 4, dtype=np.float32))


def image_model() -> sx.Model:
    b = sx.Builder(opset=17)
    x = b.input("pixels", "float32", ["N", 3, 4, 5])
    return b.model(y=b.Conv(x, np.ones((2, 3, 1, 1), np.float32)))


def rows_of(source: Any, columns: Any = None, of: sx.Model | None = None) -> Array:
    runs = calibration_data(of or model(), source, 0, None, columns).runs
    return np.concatenate([np.asarray(value) for feeds in runs for value in feeds.values()])


def test_archives_and_tables_of_one_column(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=NUMBERS)
    np.savez(tmp_path / "double.npz", x=NUMBERS.astype(np.float64))
    parquet.write_table(pa.table({"x": NUMBERS.tolist()}), tmp_path / "x.parquet")
    (tmp_path / "x.jsonl").write_text("".join(json.dumps({"x": row}) + "\n" for row in NUMBERS.tolist()))
    for name in ("x.npz", "double.npz", "x.parquet", "x.jsonl"):
        np.testing.assert_array_equal(rows_of(tmp_path / name), NUMBERS)
    folder = tmp_path / "folder"
    folder.mkdir()
    np.save(folder / "x.npy", NUMBERS)
    np.testing.assert_array_equal(rows_of(folder), NUMBERS)


def test_columns_of_numbers_become_a_matrix(tmp_path: Path) -> None:
    csv.write_csv(pa.table(COLUMNS), tmp_path / "rows.csv")
    np.testing.assert_array_equal(rows_of(str(tmp_path / "rows.csv")), NUMBERS)
    np.testing.assert_array_equal(rows_of(pa.table(COLUMNS)), NUMBERS)
    named = {"x": ["c", "a", "b"]}
    np.testing.assert_array_equal(rows_of(tmp_path / "rows.csv", named), NUMBERS[:, [2, 0, 1]])
    table = pa.table({"id": np.arange(len(NUMBERS)), "values": NUMBERS.tolist()})
    np.testing.assert_array_equal(rows_of(table, {"x": "values"}), NUMBERS)


def test_iterables_join_files_and_feeds(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=NUMBERS)
    joined = rows_of(iter([str(tmp_path / "x.npz"), {"x": NUMBERS[:2]}]))
    np.testing.assert_array_equal(joined, np.concatenate([NUMBERS, NUMBERS[:2]]))


def test_folders_of_pictures(tmp_path: Path) -> None:
    """Pictures are in the folder, or in one for each class; their bytes become floats."""
    image = pytest.importorskip("PIL.Image")
    for i, pixels in enumerate(PIXELS):
        for folder in (tmp_path / "flat", tmp_path / "classes" / str(i)):
            folder.mkdir(parents=True, exist_ok=True)
            image.fromarray(np.moveaxis(pixels, 0, -1)).save(folder / f"{i}.png")
    for name in ("flat", "classes"):
        actual = rows_of(tmp_path / name, of=image_model())
        np.testing.assert_array_equal(actual, PIXELS.astype(np.float32))


@pytest.mark.parametrize(
    ("table", "columns", "message"),
    [
        ({"x": NUMBERS.tolist(), "id": np.arange(len(NUMBERS))}, None, r"columns of inputs \(x\); got 'id'.*--map"),
        ({"a": COLUMNS["a"], "b": COLUMNS["b"]}, None, "must have a column of the input 'x'.*got 'a', 'b'"),
        ({"x": NUMBERS[:, :2].tolist()}, None, r"column 'x' of data must have the shape \[N,3\]; got \[40, 2\]"),
        ({"a": COLUMNS["a"]}, None, "must have the shape|must have an axis"),
        (COLUMNS, {"y": "a"}, "the model has no input 'y'"),
        (COLUMNS, {"x": ["a", "b", "d"]}, "there is no 'd'"),
        ({"x": [1.0, None]}, None, "column 'x' of Table must have no nulls; got 1"),
    ],
)  # fmt: skip
def test_columns_that_do_not_fit(table: dict[str, Any], columns: Any, message: str) -> None:
    with pytest.raises(sx.InputError, match=message):
        rows_of(pa.table(table), columns)


def test_sources_of_other_types() -> None:
    with pytest.raises(TypeError, match="data must be feeds, a path, a table, or an iterable of such"):
        rows_of(3)
    with pytest.raises(sx.InputError, match=r"must be a .npz file, a table .* it does not exist"):
        rows_of("missing.npz")
    with pytest.raises(sx.InputError, match="columns must be those of data; got None"):
        calibration_data(model(), None, 0, None, {"x": "a"})


def test_the_command_reads_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(model(), tmp_path / "m.onnx")
    csv.write_csv(pa.table({**COLUMNS, "id": np.arange(len(NUMBERS))}), tmp_path / "rows.csv")
    words = ["quantize", str(tmp_path / "m.onnx"), "--scheme", "int8", "--force", "--json"]
    words += ["--data", str(tmp_path / "rows.csv"), "--pack", "x=a,b,c"]
    assert main(words) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["runs"] == 2 and not report["is_random"] and report["outputs"][0]["signal_to_noise"] > 30

"""Training data in files and folders."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.ir import Array
from sardonyx._src.tables.columns import read_columns
from sardonyx.train import fit
from train.classification import classifier, task

DATA = task()


def assert_equal(actual: dict[str, Array], expected: dict[str, Array]) -> None:
    assert actual.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(actual[name], values)


def test_archives_and_folders_have_the_same_columns(tmp_path: Path) -> None:
    np.savez(tmp_path / "train.npz", x=DATA["x"], target=DATA["target"])
    assert_equal(read_columns(str(tmp_path / "train.npz")), DATA)
    (tmp_path / "arrays").mkdir()
    for name, values in DATA.items():
        np.save(tmp_path / "arrays" / f"{name}.npy", values)
    assert_equal(read_columns(str(tmp_path / "arrays")), DATA)
    (tmp_path / "shards").mkdir()
    for i in range(3):
        rows = slice(i * 30, i * 30 + 30)
        np.savez(tmp_path / "shards" / f"{i}.npz", x=DATA["x"][rows], target=DATA["target"][rows])
    assert_equal(read_columns(str(tmp_path / "shards")), DATA)


def test_parquet_files(tmp_path: Path) -> None:
    """Numbers, and lists of numbers, as pandas and others write them."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"x": DATA["x"].tolist(), "target": DATA["target"]})
    parquet.write_table(table, tmp_path / "train.parquet")
    actual = read_columns(str(tmp_path / "train.parquet"))
    np.testing.assert_allclose(actual["x"], DATA["x"])
    np.testing.assert_array_equal(actual["target"], DATA["target"])
    result = fit(classifier(), tmp_path / "train.parquet", epochs=1, engine="reference")
    assert len(result.history) == 1


def test_parquet_files_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "sardonyx._src.tables.arrow", raising=False)
    with pytest.raises(sx.MissingPackage, match=r"pip install 'sardonyx\[score\]'"):
        read_columns(str(tmp_path / "train.parquet"))


def test_folders_of_images_by_class(tmp_path: Path) -> None:
    """The classes are numbered in the order of their names; colors become the first axis."""
    from PIL import Image

    gray = np.arange(12, dtype=np.uint8).reshape(3, 4)
    for i, name in enumerate(("cat", "dog")):
        (tmp_path / "gray" / name).mkdir(parents=True)
        for j in range(2):
            Image.fromarray(gray + 10 * i + j).save(tmp_path / "gray" / name / f"{j}.png")
    columns = read_columns(str(tmp_path / "gray"))
    np.testing.assert_array_equal(columns["image"], [gray, gray + 1, gray + 10, gray + 11])
    np.testing.assert_array_equal(columns["label"], [0, 0, 1, 1])
    (tmp_path / "color" / "a").mkdir(parents=True)
    pixels = np.arange(36, dtype=np.uint8).reshape(3, 4, 3)
    Image.fromarray(pixels).save(tmp_path / "color" / "a" / "0.png")
    np.testing.assert_array_equal(
        read_columns(str(tmp_path / "color"))["image"][0], pixels.transpose(2, 0, 1)
    )
    Image.fromarray(gray[:2]).save(tmp_path / "gray" / "dog" / "9.png")
    with pytest.raises(
        sx.InputError, match=r"9.png must have the shape \[3, 4\] of the other images; got \[2, 4\]"
    ):
        read_columns(str(tmp_path / "gray"))


def test_files_that_are_no_data_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"no archive")
    (tmp_path / "b.txt").write_text("1")
    (tmp_path / "empty").mkdir()
    (tmp_path / "classes" / "a").mkdir(parents=True)
    (tmp_path / "shards").mkdir()
    np.savez(tmp_path / "shards" / "0.npz", x=[1])
    np.savez(tmp_path / "shards" / "1.npz", y=[1])
    for name, message in (
        ("a.npz", "a.npz: "),
        ("b.txt", "must be a .npz file, a table .* or a folder"),
        ("empty", "got 0 entries"),
        ("classes", "must have images"),
        ("shards", r"1.npz must have the columns \['x'\] of 0.npz; got \['y'\]"),
    ):
        with pytest.raises(sx.InputError, match=message):
            read_columns(str(tmp_path / name))


def test_columns_convert_to_the_inputs(tmp_path: Path) -> None:
    """Integers become floats, and flat rows take the declared shape."""
    image = sx.from_text("""<ir_version: 10, opset_import: ["": 21]>
      g (float[N, 2, 2] x) => (float[N, 4] y) <int64[2] s = {-1, 4}, float[4, 4] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}> {
        f = Reshape(x, s) y = MatMul(f, w) }""")
    data = {"x": np.eye(4, dtype=np.uint8), "target": np.arange(4, dtype=np.uint8), "unused": np.zeros(3)}
    result = fit(sx.train.prepare(image), data, epochs=1, engine="reference")
    e = np.exp(1)
    assert result.history[0].metrics["loss"] == pytest.approx(-np.log(e / (e + 3)), rel=1e-6)

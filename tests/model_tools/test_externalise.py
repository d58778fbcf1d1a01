"""`externalise` and `internalise`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from model_tools.agreement import assert_same_results, load_shared_model, reference_feeds, results
from sardonyx._src.io.external import ExternalStorage
from sardonyx._src.ir import Model
from sardonyx._src.tools.externalise import externalise, internalise


def weighted_model() -> Model:
    b = sx.Builder(opset=21)
    x = b.input("x", sx.DataType.FLOAT, [2000])
    original = b.constant("one", np.ones(2000, np.float32))
    two = b.constant("two", np.full(2000, 2, np.float32))
    return b.model(y=b.Mul(b.Add(x, original), b.Mul(two, b.constant("small", np.full(1, 3, np.float32)))))


def places(model: Model) -> dict[str, tuple[str, int] | None]:
    """Location and offset of each initializer that is external."""
    result = {}
    for name, value in model.graph.initializers.items():
        assert value.initializer is not None
        storage = getattr(value.initializer, "storage", None)
        result[name] = (storage.location, storage.offset) if isinstance(storage, ExternalStorage) else None
    return result


def test_large_tensors_go_out_and_small_ones_are_kept(tmp_path: Path) -> None:
    externalise(weighted_model(), tmp_path / "m.onnx")
    result = sx.load(tmp_path / "m.onnx")
    assert places(result) == {"one": ("m.onnx.data", 0), "two": ("m.onnx.data", 8192), "small": None}
    (actual,) = results(result, {"x": np.ones(2000, np.float32)})
    assert_same_results(actual, np.full(2000, 12, np.float32))


def test_alignment_name_and_threshold_are_the_callers(tmp_path: Path) -> None:
    externalise(weighted_model(), tmp_path / "m.onnx", location="w/all.bin", align=1, threshold=4)
    result = places(sx.load(tmp_path / "m.onnx"))
    assert result == {"one": ("w/all.bin", 0), "two": ("w/all.bin", 8000), "small": ("w/all.bin", 16000)}


def test_each_tensor_can_have_a_file(tmp_path: Path) -> None:
    externalise(weighted_model(), tmp_path / "m.onnx", one_file_per_tensor=True)
    result = places(sx.load(tmp_path / "m.onnx"))
    assert result["one"] == ("m.onnx-00001-of-00002.data", 0)
    assert result["two"] == ("m.onnx-00002-of-00002.data", 0)


def test_the_data_of_another_model_stay(tmp_path: Path) -> None:
    externalise(weighted_model(), tmp_path / "a.onnx", location="w.bin")
    before = (tmp_path / "w.bin").read_bytes()
    with pytest.raises(
        sx.ExternalDataError, match=r"'w\.bin' must be new, or one that 'b\.onnx' refers to so far"
    ):
        externalise(weighted_model(), tmp_path / "b.onnx", location="w.bin", align=1)
    assert (tmp_path / "w.bin").read_bytes() == before
    externalise(weighted_model(), tmp_path / "a.onnx", location="w.bin", align=1)


def test_what_went_out_comes_back(tmp_path: Path) -> None:
    externalise(weighted_model(), tmp_path / "m.onnx")
    internalise(sx.load(tmp_path / "m.onnx"), tmp_path / "whole.onnx")
    (tmp_path / "m.onnx.data").unlink()
    result = sx.load(tmp_path / "whole.onnx")
    assert set(places(result).values()) == {None}
    (actual,) = results(result, {"x": np.ones(2000, np.float32)})
    assert_same_results(actual, np.full(2000, 12, np.float32))


def test_a_model_beyond_the_limit_is_refused_and_not_written(tmp_path: Path) -> None:
    externalise(weighted_model(), tmp_path / "m.onnx")
    with pytest.raises(sx.LimitError, match="keep the weights external"):
        internalise(sx.load(tmp_path / "m.onnx"), tmp_path / "whole.onnx", limit=10_000)
    assert not (tmp_path / "whole.onnx").exists()


def test_sizes_are_found_without_reading_what_is_written(tmp_path: Path) -> None:
    externalise(weighted_model(), tmp_path / "m.onnx")
    internalise(sx.load(tmp_path / "m.onnx"), tmp_path / "whole.onnx", limit=1 << 20)
    size = (tmp_path / "whole.onnx").stat().st_size
    internalise(sx.load(tmp_path / "m.onnx"), tmp_path / "again.onnx", limit=size)
    with pytest.raises(sx.LimitError):
        internalise(sx.load(tmp_path / "m.onnx"), tmp_path / "again.onnx", limit=size - 1)


def test_a_real_model_computes_the_same_from_another_file(tmp_path: Path) -> None:
    whole = load_shared_model("dtln_2")
    externalise(whole, tmp_path / "m.onnx", checksum=True)
    feeds = reference_feeds("dtln_2")
    for actual, expected in zip(
        results(sx.load(tmp_path / "m.onnx"), feeds), results(whole, feeds), strict=True
    ):
        assert_same_results(actual, expected)

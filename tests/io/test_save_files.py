"""Saved models read back: layouts, names, and agreement of other readers."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.external import ExternalFiles, ExternalStorage, Policy
from sardonyx._src.io.saving.save import save
from sardonyx._src.io.serde import from_proto
from sardonyx._src.ir import Attribute, Graph, Model, Node, SparseTensor, Tensor, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.tensors import FieldStorage, RawStorage
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode

BIG = np.arange(2000, dtype=np.float32)
INT4 = np.arange(-8, 8).astype(ml_dtypes.int4).repeat(200)
SMALL = np.array([1, -2, 3], np.int64)
WANTED: dict[str, np.ndarray] = {
    "big": BIG,
    "int4": INT4,
    "small": SMALL,
    "empty": np.zeros((0, 3), np.float16),
    "text": np.array(["ü", "x" * 5000], object),
}


def model_of(tensors: Mapping[str, Tensor | SparseTensor]) -> Model:
    values = [Value(name, None, tensor) for name, tensor in tensors.items()]
    return Model(Graph("g", (), values), ir_version=10, opset_imports={"": 21})


@pytest.fixture
def model() -> Model:
    tensors: dict[str, Tensor | SparseTensor] = {n: Tensor.of(v, name=n) for n, v in WANTED.items()}
    values = Tensor.of(np.arange(300, dtype=np.float64), name="sparse")
    tensors["sparse"] = SparseTensor(values, Tensor.of(np.arange(300) * 2), (600,))
    result = model_of(tensors)
    constant = Attribute("value", AttributeType.TENSOR, Tensor.of(BIG * 2))
    result.graph.append(Node("Constant", outputs=[Value("c")], attributes={"value": constant}))
    return result


def load(path: Path, policy: Policy = Policy.STRICT) -> Model:
    return from_proto.model(decode(path.read_bytes(), m.ModelProto), ExternalFiles(path, policy))


def initializer(model: Model, name: str) -> Tensor:
    tensor = model.graph.initializers[name].initializer
    assert isinstance(tensor, Tensor)
    return tensor


def assert_same(model: Model) -> None:
    for name, expected in WANTED.items():
        actual = initializer(model, name).numpy()
        assert (actual.dtype, actual.shape, actual.tolist()) == (
            expected.dtype,
            expected.shape,
            expected.tolist(),
        )
    sparse = model.graph.initializers["sparse"].initializer
    assert isinstance(sparse, SparseTensor)
    assert sparse.numpy().tolist() == [float(i // 2) if i % 2 == 0 else 0.0 for i in range(600)]
    value = model.graph.nodes[0].attributes["value"].value
    assert isinstance(value, Tensor)
    assert value.numpy().tolist() == (BIG * 2).tolist()


def external_names(model: Model) -> set[str]:
    tensors = [value.initializer for value in model.graph.initializers.values()]
    return {t.name for t in tensors if isinstance(t, Tensor) and isinstance(t.storage, ExternalStorage)}


def listing(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


LAYOUTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "default": ({}, []),
    "inline": ({"external": False}, []),
    "beside": ({"external": True}, ["m.onnx.data"]),
    "named": ({"external": "w.bin"}, ["w.bin"]),
    "below": ({"external": "a/b/w.bin"}, ["a/b/w.bin"]),
    "tight": ({"external": "w", "align": 1}, ["w"]),
    "all": ({"external": "w", "threshold": 0}, ["w"]),
    "none is long enough": ({"external": "w", "threshold": 10**9}, []),
    "sharded": (
        {"external": "w.d", "shard_size": 9000},
        ["w-00001-of-00003.d", "w-00002-of-00003.d", "w-00003-of-00003.d"],
    ),
    "sharded below": (
        {"external": "a/w", "shard_size": 1, "threshold": 3000, "checksum": True},
        ["a/w-00001-of-00002", "a/w-00002-of-00002"],
    ),
    "hashed": ({"external": True, "checksum": True}, ["m.onnx.data"]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_reads_back(model: Model, tmp_path: Path, layout: str) -> None:
    options, files = LAYOUTS[layout]
    save(model, tmp_path / "m.onnx", **options)
    assert listing(tmp_path) == sorted([*files, "m.onnx"])
    assert_same(load(tmp_path / "m.onnx"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_onnx_package_reads_every_layout(model: Model, tmp_path: Path, layout: str) -> None:
    model.graph.remove_initializer(model.graph.initializers["sparse"])  # whose external data it leaves out
    save(model, tmp_path / "m.onnx", **LAYOUTS[layout][0])
    proto = onnx.load(str(tmp_path / "m.onnx"))
    for tensor in proto.graph.initializer:
        array = numpy_helper.to_array(tensor)
        assert array.tolist() == WANTED[tensor.name].tolist()
    assert numpy_helper.to_array(proto.graph.node[0].attribute[0].t).tolist() == (BIG * 2).tolist()


def test_the_threshold_is_the_first_size_that_leaves_the_model(tmp_path: Path) -> None:
    model = model_of(
        {
            "less": Tensor.of(np.zeros(1023, np.uint8), name="less"),
            "just": Tensor.of(np.zeros(1024, np.uint8), name="just"),
        }
    )
    save(model, tmp_path / "m.onnx", external="w")
    assert external_names(load(tmp_path / "m.onnx")) == {"just"}


def test_the_bytes_are_where_the_entries_say(tmp_path: Path) -> None:
    model = model_of({"a": Tensor.of(SMALL, name="a"), "b": Tensor.of(BIG, name="b")})
    save(model, tmp_path / "m.onnx", external="w", threshold=0)
    data = (tmp_path / "w").read_bytes()
    assert data == SMALL.tobytes() + bytes(4096 - 24) + BIG.tobytes()
    record = decode((tmp_path / "m.onnx").read_bytes(), m.ModelProto)
    assert record.graph is not None
    entries = [{e.key: e.value for e in t.external_data} for t in record.graph.initializer]
    assert entries == [
        {"location": "w", "offset": "0", "length": "24"},
        {"location": "w", "offset": "4096", "length": "8000"},
    ]


def test_external_stays_external_in_one_file_and_inline_stays_inline(model: Model, tmp_path: Path) -> None:
    save(model, tmp_path / "m.onnx", external="w", shard_size=5000)
    (tmp_path / "new").mkdir()
    save(load(tmp_path / "m.onnx"), tmp_path / "new" / "n.onnx", threshold=0)
    again = load(tmp_path / "new" / "n.onnx")
    assert listing(tmp_path / "new") == ["n.onnx", "n.onnx.data"]
    assert external_names(again) == {"big", "int4"}
    assert_same(again)


def test_external_data_come_back_inline(model: Model, tmp_path: Path) -> None:
    save(model, tmp_path / "m.onnx", external=True)
    save(load(tmp_path / "m.onnx"), tmp_path / "n.onnx", external=False)
    (tmp_path / "m.onnx.data").unlink()
    assert external_names(load(tmp_path / "n.onnx")) == set()
    assert_same(load(tmp_path / "n.onnx"))


def test_each_data_file_has_its_checksum(model: Model, tmp_path: Path) -> None:
    save(model, tmp_path / "m.onnx", external="w", shard_size=9000, checksum=True)
    loaded = load(tmp_path / "m.onnx")
    for name in ("big", "int4"):
        storage = initializer(loaded, name).storage
        assert isinstance(storage, ExternalStorage)
        assert storage.checksum == hashlib.sha1((tmp_path / storage.location).read_bytes()).hexdigest()
        assert storage.verify()


def test_the_checksum_counts_the_gaps(tmp_path: Path) -> None:
    model = model_of({n: Tensor.of(np.ones(3, np.uint8), name=n) for n in "ab"})
    save(model, tmp_path / "m.onnx", external="w", threshold=0, checksum=True)
    storage = initializer(load(tmp_path / "m.onnx"), "b").storage
    assert isinstance(storage, ExternalStorage)
    assert storage.checksum == hashlib.sha1(b"\1\1\1" + bytes(61) + b"\1\1\1").hexdigest()


def test_tied_weights_are_written_once_and_stay_tied(tmp_path: Path) -> None:
    storage = RawStorage(BIG.tobytes())
    tied = {n: Tensor(DataType.FLOAT, (2000,), storage, n) for n in "ab"}
    save(model_of(tied), tmp_path / "m.onnx", external="w")
    assert (tmp_path / "w").stat().st_size == 8000
    save(load(tmp_path / "m.onnx"), tmp_path / "n.onnx")
    assert (tmp_path / "n.onnx.data").stat().st_size == 8000
    assert initializer(load(tmp_path / "n.onnx"), "b").numpy().tolist() == BIG.tolist()


def test_typed_fields_are_packed_into_the_data_file(tmp_path: Path) -> None:
    tensor = Tensor(DataType.FLOAT16, (2,), FieldStorage("int32_data", [0x3C00, 0xC000]), "h")
    save(model_of({"h": tensor}), tmp_path / "m.onnx", external="w", threshold=0)
    assert (tmp_path / "w").read_bytes() == b"\x00\x3c\x00\xc0"


def test_keys_of_others_and_basepath_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"\1\2")
    files = ExternalFiles(tmp_path / "m.onnx")
    entries = [("location", "w"), ("prepacked_0", "x|4096;2"), ("basepath", "/secret/home")]
    tensor = Tensor(DataType.UINT8, (2,), files.storage(entries, DataType.UINT8, (2,), "t"), "t")
    save(model_of({"t": tensor}), tmp_path / "n.onnx")
    saved = (tmp_path / "n.onnx").read_bytes()
    assert b"n.onnx.data" in saved
    assert b"prepacked" not in saved
    assert b"secret" not in saved


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../w", "sub/../../w", "/tmp/w", "a\\w", "C:w", "", "w\0", ".", "sub/", "//host/w", ".."]
)
def test_data_are_written_only_below_the_models_directory(model: Model, tmp_path: Path, name: str) -> None:
    (tmp_path / "home").mkdir()
    with pytest.raises(ExternalDataError, match="external: a location must"):
        save(model, tmp_path / "home" / "m.onnx", external=name)
    assert listing(tmp_path) == []


@pytest.mark.parametrize("name", ["m.onnx", "./m.onnx", "M.ONNX", "m.onnx/w"])
def test_the_data_file_cannot_overwrite_the_model(model: Model, tmp_path: Path, name: str) -> None:
    with pytest.raises(ExternalDataError, match=r"must not have the name of the model; got .* for 'm\.onnx'"):
        save(model, tmp_path / "m.onnx", external=name)
    assert listing(tmp_path) == []


def test_a_shard_cannot_overwrite_the_model(tmp_path: Path) -> None:
    model = model_of({n: Tensor.of(BIG, name=n) for n in "ab"})
    with pytest.raises(ExternalDataError, match="must not have the name of the model"):
        save(model, tmp_path / "w-00002-of-00002.data", external="w.data", shard_size=1)
    assert listing(tmp_path) == []


def test_a_model_whose_name_no_location_could_state_is_saved_without_data_files(tmp_path: Path) -> None:
    save(model_of({"s": Tensor.of(SMALL, name="s")}), tmp_path / "a\\b.onnx")
    assert listing(tmp_path) == ["a\\b.onnx"]
    with pytest.raises(ExternalDataError, match="has a backslash"):
        save(model_of({"b": Tensor.of(BIG, name="b")}), tmp_path / "a\\b.onnx", external=True)


def test_a_relative_target_is_of_the_working_directory(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save(model, "m.onnx", external=True)
    assert listing(tmp_path) == ["m.onnx", "m.onnx.data"]


def test_a_target_reached_by_a_linked_directory_is_saved_there(model: Model, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    save(model, tmp_path / "link" / "m.onnx", external=True)
    assert listing(tmp_path / "real") == ["m.onnx", "m.onnx.data"]


def test_a_missing_directory_is_an_error_of_the_system(model: Model, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"):
        save(model, tmp_path / "absent" / "m.onnx")


def test_a_directory_is_no_target(model: Model, tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        save(model, f"{tmp_path}{os.sep}")
    with pytest.raises(FileExistsError, match="must be a regular file"):
        save(model, tmp_path)

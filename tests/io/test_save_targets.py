"""Targets other than model files: file objects, records, text, JSON; and invalid options."""

from __future__ import annotations

import io
import os
import tempfile
import threading
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest

import sardonyx as sx
from sardonyx._src.dtypes import DataType
from sardonyx._src.io.external import ExternalFiles
from sardonyx._src.io.saving.file_writer import write_all
from sardonyx._src.io.saving.save import Format, save
from sardonyx._src.io.serde import from_proto
from sardonyx._src.ir import Graph, Model, Tensor, Value
from sardonyx._src.ir.tensors import RawStorage
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.json import from_json
from sardonyx._src.proto.text import from_text

BIG = np.arange(50_000, dtype=np.float32)


@pytest.fixture
def model() -> Model:
    tensors = [Tensor.of(BIG, name="big"), Tensor.of(np.array([1, 2], np.int64), name="small")]
    values = [Value(t.name, None, t) for t in tensors]
    return Model(Graph("g", (), values), ir_version=10, opset_imports={"": 21})


def tensors_of(data: bytes) -> dict[str, list[float]]:
    """The tensors that the onnx package reads."""
    proto = onnx.load_from_string(data)
    return {t.name: onnx.numpy_helper.to_array(t).tolist() for t in proto.graph.initializer}


WANTED = {"big": BIG.tolist(), "small": [1, 2]}


class Grudging(io.RawIOBase):
    """An unbuffered file that writes at most seven bytes per call."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        taken = bytes(data[:7])
        self.data += taken
        return len(taken)


# --- file objects --------------------------------------------------------------------------------


@pytest.mark.parametrize("external", [None, False])
def test_a_file_object_takes_the_whole_model(model: Model, external: bool | None) -> None:
    file = io.BytesIO(b"")
    save(model, file, external=external)
    assert tensors_of(file.getvalue()) == WANTED


def test_external_data_go_inline_into_a_file_object(model: Model, tmp_path: Path) -> None:
    save(model, tmp_path / "m.onnx", external="w")
    record = decode((tmp_path / "m.onnx").read_bytes(), m.ModelProto)
    file = io.BytesIO()
    save(from_proto.model(record, ExternalFiles(tmp_path / "m.onnx")), file)
    assert tensors_of(file.getvalue()) == WANTED


def test_a_file_that_takes_little_at_a_time_gets_all(model: Model) -> None:
    file = Grudging()
    save(model, file)
    assert tensors_of(bytes(file.data)) == WANTED


def test_a_pipe_can_be_written_to(model: Model) -> None:
    read, write = os.pipe()
    with open(read, "rb") as source, open(write, "wb") as target:
        chunks: list[bytes] = []
        reader = threading.Thread(target=lambda: chunks.append(source.read()))
        reader.start()
        save(model, target)
        target.close()
        reader.join()
    assert tensors_of(chunks[0]) == WANTED


def test_writing_starts_at_the_position_of_the_file(model: Model) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"head")
        save(model, file)
        file.seek(0)
        assert file.read(4) == b"head"
        assert tensors_of(file.read()) == WANTED


def test_a_file_that_does_not_say_how_much_it_took_is_refused() -> None:
    class Silent:
        def write(self, data: object, /) -> None:
            return None

    with pytest.raises(BlockingIOError, match="pass a blocking one"):
        write_all(Silent(), b"x")


def test_long_payloads_are_written_as_they_are() -> None:
    class Noting:
        def __init__(self) -> None:
            self.sizes: list[int] = []

        def write(self, data: bytes | memoryview, /) -> int:
            self.sizes.append(len(data))
            return len(data)

    file = Noting()
    tensors = [Tensor(DataType.UINT8, (1 << 20,), RawStorage(bytes(1 << 20)), name) for name in "ab"]
    values = [Value(t.name, None, t) for t in tensors]
    save(Model(Graph("g", (), values), ir_version=10, opset_imports={"": 21}), file)
    assert [size for size in file.sizes if size > 1000] == [1 << 20, 1 << 20]
    assert len(file.sizes) == 5


# --- records -------------------------------------------------------------------------------------


def test_a_record_is_written_unchanged(tmp_path: Path) -> None:
    entries = [m.StringStringEntryProto(key="location", value="../elsewhere")]
    tensor = m.TensorProto(name="w", data_type=1, dims=[2], data_location=1, external_data=entries)
    record = m.ModelProto(ir_version=99, graph=m.GraphProto(initializer=[tensor]))
    save(record, tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == encode(record)
    file = io.BytesIO()
    save(record, file)
    assert file.getvalue() == encode(record)


@pytest.mark.parametrize(
    "options", [{"external": "w"}, {"external": False}, {"shard_size": 1}, {"checksum": True}]
)
def test_the_data_of_a_record_stay_where_they_are(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(sx.InputError, match="requires a Model; got a record"):
        save(m.ModelProto(), tmp_path / "m.onnx", **options)
    assert not list(tmp_path.iterdir())


# --- formats -------------------------------------------------------------------------------------


@pytest.mark.parametrize("external", [None, "w"])
@pytest.mark.parametrize("name", ["m.onnxtxt", "m.txt", "m.json", "m.onnx", "m", "m.pb"])
def test_the_suffix_decides_the_format(model: Model, tmp_path: Path, name: str, external: str | None) -> None:
    save(model, tmp_path / name, external=external)
    data = (tmp_path / name).read_bytes()
    if name == "m.json":
        record = from_json(data.decode(), m.ModelProto)
    elif name in ("m.onnxtxt", "m.txt"):
        record = from_text(data.decode(), m.ModelProto)
    else:
        record = decode(data, m.ModelProto)
    loaded = from_proto.model(record, ExternalFiles(tmp_path / name))
    tensor = loaded.graph.initializers["big"].initializer
    assert isinstance(tensor, Tensor)
    assert tensor.numpy().tolist() == BIG.tolist()
    assert (tmp_path / "w").exists() == (external == "w")


def test_a_stated_format_outweighs_the_suffix(model: Model, tmp_path: Path) -> None:
    save(model, tmp_path / "m.onnx", format="json")
    assert (tmp_path / "m.onnx").read_bytes()[:1] == b"{"
    save(model, tmp_path / "m.json", format="binary")
    assert tensors_of((tmp_path / "m.json").read_bytes()) == WANTED


def test_a_file_object_takes_every_format(model: Model) -> None:
    file = io.BytesIO()
    save(model, file, format="json")
    record = from_json(file.getvalue().decode(), m.ModelProto)
    assert record.graph is not None
    assert [t.name for t in record.graph.initializer] == ["big", "small"]


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"external": "w"}, {"external": True}, {"shard_size": 9}, {"checksum": True}]
)
def test_a_file_object_has_no_data_files(model: Model, options: dict[str, Any]) -> None:
    with pytest.raises(sx.InputError, match="requires a path; got a file object"):
        save(model, io.BytesIO(), **options)


@pytest.mark.parametrize("options", [{"shard_size": 9}, {"checksum": True}])
def test_what_is_inline_has_neither_shards_nor_checksum(
    model: Model, tmp_path: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(sx.InputError, match="requires external data; got external=False"):
        save(model, tmp_path / "m.onnx", external=False, **options)


@pytest.mark.parametrize("options", [{"align": 0}, {"align": -1}, {"shard_size": 0}, {"threshold": -1}])
def test_sizes_must_make_sense(model: Model, tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(sx.InputError, match=r"must be at least [01]; got"):
        save(model, tmp_path / "m.onnx", **options)


@pytest.mark.parametrize("name", ["m.pbtxt", "m.textproto", "m.prototxt"])
def test_protobufs_text_is_not_written_under_its_suffix(model: Model, tmp_path: Path, name: str) -> None:
    with pytest.raises(sx.InputError, match=r"protobuf's text format; use \.onnxtxt"):
        save(model, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_an_unknown_format_is_refused(model: Model, tmp_path: Path) -> None:
    with pytest.raises(sx.InputError, match=r"format must be one of 'binary', 'text', 'json'; got 'yaml'"):
        save(model, tmp_path / "m.onnx", format=cast(Format, "yaml"))


def test_only_models_are_saved(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="model must be a Model or a ModelProto record; got GraphProto"):
        save(cast(Model, m.GraphProto()), tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())

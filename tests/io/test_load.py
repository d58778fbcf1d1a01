"""Loading from every kind of source, and errors for invalid files."""

from __future__ import annotations

import io
import mmap
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_record
from sardonyx._src.errors import DecodeError, InvalidModel, LimitError
from sardonyx._src.io.loading.load import ModelSource
from sardonyx._src.ir import Tensor
from sardonyx._src.ir.tensors import RawStorage
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode
from sardonyx._src.proto.wire import Limits

TEXT = "g (float[2] x) => (float[2] y) { y = Abs(x) }"
DATA = encode(parse_record(TEXT))


class Foreign:
    """A message of another library."""

    def SerializeToString(self) -> bytes:
        return DATA


def test_path_bytes_file_record_and_foreign_message_are_the_same_model(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(DATA)
    with path.open("rb") as file:
        sources: list[ModelSource] = [
            path,
            str(path),
            DATA,
            bytearray(DATA),
            memoryview(DATA),
            io.BytesIO(DATA),
            file,
            parse_record(TEXT),
            Foreign(),
        ]
        texts = {sx.to_text(sx.load(source)) for source in sources}
    assert len(texts) == 1


def test_a_model_is_returned_as_it_is() -> None:
    model = sx.load(DATA)
    assert sx.load(model) is model


def test_text_and_json_are_recognized_by_their_suffixes(tmp_path: Path) -> None:
    model = sx.load(DATA)
    for name, text in (("m.onnxtxt", sx.to_text(model)), ("m.json", sx.to_json(model))):
        (tmp_path / name).write_text(text)
        assert sx.to_text(sx.load(tmp_path / name)) == sx.to_text(model)


@pytest.mark.usefixtures("long_files")
def test_weights_are_views_of_the_file(tmp_path: Path) -> None:
    b = sx.Builder(opset=21)
    x = b.input("x", sx.DataType.FLOAT, [1024])
    weights = np.arange(1024, dtype=np.float32)
    sx.save(b.model(y=b.Add(x, b.constant("w", weights))), tmp_path / "m.onnx")
    tensor = sx.load(tmp_path / "m.onnx").graph.initializers["w"].initializer
    assert isinstance(tensor, Tensor)
    assert isinstance(tensor.storage, RawStorage)
    assert isinstance(tensor.storage.data, memoryview)
    assert isinstance(tensor.storage.data.obj, mmap.mmap)
    assert np.shares_memory(tensor.numpy(), np.frombuffer(tensor.storage.data, np.uint8))
    assert not tensor.numpy().flags.writeable
    assert np.array_equal(tensor.numpy(), weights)


def test_an_empty_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").touch()
    with pytest.raises(InvalidModel, match="must contain a model; got an empty file"):
        sx.load(tmp_path / "m.onnx")


def test_empty_bytes_are_a_model_without_graph() -> None:
    with pytest.raises(InvalidModel, match="must have a graph"):
        sx.load(b"")


def test_a_directory_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidModel, match="must be a file; got a directory"):
        sx.load(tmp_path)


def test_a_text_file_says_what_to_call_it(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_text(sx.to_text(sx.load(DATA)))
    with pytest.raises(DecodeError, match=r"m\.onnx: byte .*looks like text"):
        sx.load(tmp_path / "m.onnx")


def test_an_lfs_pointer_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(DecodeError, match=r"Git LFS pointer file: .*`git lfs pull`"):
        sx.load(tmp_path / "m.onnx")


@pytest.mark.parametrize("length", range(1, len(DATA)))
def test_a_truncated_file_is_never_anything_but_a_typed_error(length: int) -> None:
    with pytest.raises((DecodeError, InvalidModel)):
        sx.load(DATA[:length])


def test_ten_thousand_levels_of_nesting_are_refused() -> None:
    data = b""
    for _ in range(10_000):  # a graph in an attribute of a node of a graph
        data = field(1, field(5, field(6, data)))
    with pytest.raises(LimitError, match="nested at most 128 levels") as caught:
        sx.load(field(7, data))
    assert caught.value.limit == "nesting"


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
    size, length = len(content), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    length.append(size)
    return bytes([number << 3 | 2]) + bytes(length) + content


def test_limits_can_be_set_by_the_caller() -> None:
    with pytest.raises(LimitError, match="limit `size`"):
        sx.load(DATA, limits=Limits(size=4))
    with pytest.raises(LimitError, match="limit `records`"):
        sx.load(DATA, limits=Limits(records=1))


def test_a_missing_file_is_what_python_calls_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sx.load(tmp_path / "none.onnx")


def test_external_data_are_next_to_the_model_or_at_base(tmp_path: Path) -> None:
    b = sx.Builder(opset=21)
    x = b.input("x", sx.DataType.FLOAT, [1024])
    sx.save(
        b.model(y=b.Add(x, b.constant("w", np.ones(1024, np.float32)))), tmp_path / "m.onnx", external="w.bin"
    )
    for model in (
        sx.load(tmp_path / "m.onnx"),
        sx.load((tmp_path / "m.onnx").read_bytes(), base=tmp_path),
    ):
        tensor = model.graph.initializers["w"].initializer
        assert tensor is not None
        assert tensor.numpy().sum() == 1024
    lost = sx.load((tmp_path / "m.onnx").read_bytes()).graph.initializers["w"].initializer
    assert lost is not None
    with pytest.raises(sx.ExternalDataError):
        lost.numpy()


def test_collection_is_as_it_was_after_loading() -> None:
    import gc

    assert gc.isenabled()
    sx.load(DATA)
    assert gc.isenabled()
    gc.disable()
    try:
        sx.load(DATA)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_model_proto_is_read_from_its_own_record() -> None:
    assert sx.load(m.ModelProto(**dict(parse_record(TEXT).__dict__))).graph.name == "g"


@pytest.mark.parametrize("source", [None, 3, ["m.onnx"]])
def test_what_is_no_source_is_a_type_error_that_says_what_is(source: object) -> None:
    with pytest.raises(TypeError, match=r"a model source must be a path, bytes, .*; got"):
        sx.load(source)  # type: ignore[arg-type]


def test_a_file_open_for_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.onnxtxt").write_text(sx.to_text(sx.load(DATA)))
    with (tmp_path / "m.onnxtxt").open() as file, pytest.raises(TypeError, match=r"sx\.from_text"):
        sx.load(file)  # type: ignore[arg-type]


def test_an_empty_file_object_says_so() -> None:
    with pytest.raises(InvalidModel, match="the file must contain a model; got an empty file"):
        sx.load(io.BytesIO())


def test_text_in_bytes_says_what_to_do() -> None:
    with pytest.raises(DecodeError, match=r"looks like text: .* by sx\.from_text"):
        sx.load(sx.to_text(sx.load(DATA)).encode())


@pytest.mark.parametrize("name", ["m.onnxtxt", "m.json"])
def test_a_text_file_in_another_encoding_is_a_decode_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"{ \xff }")
    with pytest.raises(DecodeError, match=r"byte 2: .* must be UTF-8 text") as caught:
        sx.load(tmp_path / name)
    assert caught.value.offset == 2


def test_the_mark_of_some_editors_before_text_is_skipped(tmp_path: Path) -> None:
    for name, text in (("m.onnxtxt", sx.to_text(sx.load(DATA))), ("m.json", sx.to_json(sx.load(DATA)))):
        (tmp_path / name).write_text(text, "utf-8-sig")
        assert sx.load(tmp_path / name).graph.name == "g"


@pytest.mark.skipif(not Path("/dev/zero").is_char_device(), reason="there is no such device")
def test_a_device_without_end_is_refused() -> None:
    with pytest.raises(InvalidModel, match="/dev/zero must be a file; got a device"):
        sx.load("/dev/zero")

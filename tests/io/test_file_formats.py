"""Files in other formats than ONNX are named by what they are."""

import bz2
import gzip
import io
import json
import lzma
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx.errors import DecodeError, InvalidModel

MODEL = parse_model("g (float[2] x) => (float[2] y) { y = Abs(x) }")


def serialized_model() -> bytes:
    file = io.BytesIO()
    sx.save(MODEL, file)
    return file.getvalue()


def archive(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as members:
        for name in names:
            members.writestr(name, b"content")
    return file.getvalue()


def numpy_file(write: Callable[..., None]) -> bytes:
    file = io.BytesIO()
    write(file, np.ones(3))
    return file.getvalue()


def safetensors_file() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(4)


FILES: dict[str, tuple[bytes, str]] = {
    "png": (b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", "a PNG image"),
    "jpeg": (b"\xff\xd8\xff\xe0\0\x10JFIF\0", "a JPEG image"),
    "zip": (archive("model.onnx"), "a zip archive: extract"),
    "empty zip": (archive(), "a zip archive"),
    "npz": (numpy_file(np.savez), r"an \.npz archive"),
    "torchscript": (archive("model/data.pkl", "model/version"), "a PyTorch archive"),
    "npy": (numpy_file(np.save), r"a \.npy array"),
    "gzip": (gzip.compress(serialized_model()), "a gzip file: decompress it first"),
    "xz": (lzma.compress(serialized_model()), "an xz file: decompress"),
    "bz2": (bz2.compress(serialized_model()), "a bzip2 file: decompress"),
    "zstd": (b"\x28\xb5\x2f\xfd\x04\x00\x41\0\0", "a zstd file: decompress"),
    **{
        f"pickle {n}": (pickle.dumps(value, n), "a Python pickle")
        for n in (2, 3, 4, 5)
        for value in ({"a": [1, 2]}, np.ones(3))
    },
    "html": (b"\n<!doctype html>\n<html></html>", "an HTML page"),
    "xml": (b"<?xml version='1.0'?><net/>", "an XML document"),
    "sdx": (b"\x89SDX\r\n\x1a\n\x04\0\0\0", "a compiled program: name it .sdx"),
    "safetensors": (safetensors_file(), "a safetensors file: it has weights but no graph"),
    "tflite": (b"\x1c\0\0\0TFL3\x14\0\x20\0", "a TFLite model"),
    "gguf": (b"GGUF\x03\0\0\0", "a GGUF file"),
    "elf": (b"\x7fELF\x02\x01\x01\0", "an ELF executable"),
    "pe": (b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0", "a Windows executable"),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF document"),
    "hdf5": (b"\x89HDF\r\n\x1a\n\0\0\0\0", "an HDF5"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "a Git LFS pointer file"),
}
by_format = pytest.mark.parametrize(("content", "name"), FILES.values(), ids=FILES)


def assert_reported(source: bytes | Path, name: str) -> None:
    """`check` reports the format as its one error."""
    (diagnostic,) = sx.check(source).of("error")
    assert re.search(f"this is {name}", str(diagnostic))


@by_format
def test_bytes_are_named_by_their_format(content: bytes, name: str) -> None:
    with pytest.raises(DecodeError, match=f"byte 0: this is {name}"):
        sx.load(content)
    assert_reported(content, name)


@by_format
def test_files_are_named_by_their_format(tmp_path: Path, content: bytes, name: str) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    for opener in (sx.load, sx.Session):
        with pytest.raises(DecodeError, match=rf"byte 0: this is {name}"):
            opener(path)
    assert_reported(path, name)


def test_the_command_line_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(gzip.compress(serialized_model()))
    for verb in ("show", "run", "infer", "optimize"):
        assert main([verb, str(path), *([] if verb != "optimize" else ["-o", str(tmp_path / "o.onnx")])]) == 1
        assert f"{path}: byte 0: this is a gzip file: decompress it first" in capsys.readouterr().err


def test_text_suffixes_and_sdx_say_so(tmp_path: Path) -> None:
    for suffix in (".json", ".onnxtxt", ".sdx"):
        path = tmp_path / f"m{suffix}"
        path.write_bytes(gzip.compress(serialized_model()))
        with pytest.raises(DecodeError, match="this is a gzip file"):
            sx.Session(path)


def test_an_empty_program_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "m.sdx").touch()
    with pytest.raises(DecodeError, match="the file ends in its header"):
        sx.Session(tmp_path / "m.sdx")


def test_an_operator_set_in_another_format_says_so(tmp_path: Path) -> None:
    (tmp_path / "set.onnx").write_bytes(b"GGUF\x03\0\0\0")
    with pytest.raises(DecodeError, match="this is a GGUF file"):
        sx.load(MODEL, operator_sets=[tmp_path / "set.onnx"])


def test_a_model_without_graph_stays_an_invalid_model() -> None:
    with pytest.raises(InvalidModel, match="must have a graph"):
        sx.load(b"\x08\x0a")


@pytest.mark.parametrize("source", [b"abc", bytearray(b"abc"), None, 3, Path("m.onnx")])
def test_text_must_be_a_string(source: object) -> None:
    with pytest.raises(TypeError, match="must be a str; got"):
        sx.from_text(source)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a str; got"):
        sx.from_json(source)  # type: ignore[arg-type]


def test_a_path_in_place_of_text_says_what_reads_paths() -> None:
    for source in ("model.onnx", "/models/m.onnxtxt", "C:\\m.onnxtxt"):
        with pytest.raises(sx.errors.TextError, match=r"this looks like a path, which sx\.load reads"):
            sx.from_text(source)

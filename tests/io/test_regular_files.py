"""FIFOs, devices, sockets and links in place of a file are refused at once; open descriptors can be named."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.llvm.cache import ObjectCache
from sardonyx._src.io.regular_files import read_all
from sardonyx.errors import InputError, InvalidModel

MODEL = parse_model("g (float[2] x) => (float[2] y) { y = Abs(x) }")
OPENERS: list[Callable[[Path], object]] = [sx.load, sx.Session, sx.check]
SUFFIXES = [".onnx", ".onnxtxt", ".json", ".sdx"]
pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")


@pytest.mark.parametrize("opener", OPENERS, ids=lambda opener: opener.__name__)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_fifo_is_refused_without_waiting_for_a_writer(
    tmp_path: Path, opener: Callable[[Path], object], suffix: str
) -> None:
    os.mkfifo(tmp_path / f"m{suffix}")
    with pytest.raises(InvalidModel, match="must be a file; got a FIFO"):
        opener(tmp_path / f"m{suffix}")


@pytest.mark.parametrize("opener", OPENERS, ids=lambda opener: opener.__name__)
def test_sockets_directories_and_devices_are_refused(
    tmp_path: Path, opener: Callable[[Path], object]
) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "s.onnx"))
        for path, kind in (
            (tmp_path / "s.onnx", "socket"),
            (tmp_path, "directory"),
            (Path("/dev/null"), "device"),
        ):
            with pytest.raises(InvalidModel, match=f"must be a file; got a {kind}"):
                opener(path)


@pytest.fixture
def pipe_path() -> Iterator[str]:
    """The name of a pipe's descriptor, with a model in the pipe."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as file:
        sx.save(MODEL, file)
    yield f"/dev/fd/{reader}"
    os.close(reader)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="descriptors have no names")
def test_the_pipe_of_an_open_descriptor_is_read_by_its_name(pipe_path: str) -> None:
    assert sx.load(pipe_path).graph.name == "g"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_path_that_no_file_can_have_is_an_input_error(suffix: str) -> None:
    for opener in OPENERS:
        for name in ("a\0b", "a\ud800"):
            with pytest.raises(InputError, match="must be a path that the system can represent"):
                opener(Path(name + suffix))
    with pytest.raises(InputError, match="target must be a path that"):
        sx.save(MODEL, f"a\0b{suffix}" if suffix != ".sdx" else "a\0b")


def test_a_fifo_in_place_of_cached_code_is_a_miss(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    cache.put("target", "source", b"code")
    assert cache.get("target", "source") == b"code"
    path = cache.path("target", "source")
    path.rename(tmp_path / "moved")
    path.symlink_to("moved")
    assert cache.get("target", "source") is None
    path.unlink()
    os.mkfifo(path)
    assert cache.get("target", "source") is None


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="the system has no /proc")
@pytest.mark.parametrize("opener", [sx.load, sx.Session])
def test_a_file_that_fails_when_it_is_read_is_named(opener: Callable[[Path], object]) -> None:
    with pytest.raises(OSError, match="/proc/self/mem") as caught:
        opener(Path("/proc/self/mem"))
    assert caught.value.filename == "/proc/self/mem"


def test_a_file_without_bytes_yet_is_named() -> None:
    """As kernel messages, which a read that does not wait returns None for."""
    reader, writer = os.pipe2(os.O_NONBLOCK)
    with os.fdopen(reader, "rb", buffering=0) as file, pytest.raises(BlockingIOError) as caught:
        read_all(file, "messages")
    os.close(writer)
    assert caught.value.filename == "messages"

"""Pages of mapped files: what is let go comes again, and nothing else is let go."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import model
from sardonyx._src.io.pages import let_go, let_go_of_files
from sardonyx._src.ir.tensors import Array, ArrayStorage, Tensor

COUNT = 1 << 20  # elements


@pytest.fixture
def values(tmp_path: Path) -> Array:
    found = np.random.default_rng(1).standard_normal(COUNT, np.float32)
    (tmp_path / "data").write_bytes(found.tobytes())
    return found


def mapped(folder: Path, access: int = mmap.ACCESS_READ) -> mmap.mmap:
    with (folder / "data").open("r+b") as file:
        return mmap.mmap(file.fileno(), 0, access=access)


def resident() -> int:
    """Bytes of files that are mapped and in memory."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssFile"))


def test_pages_of_a_file_are_let_go_and_come_again(tmp_path: Path, values: Array) -> None:
    view = np.ndarray((COUNT - 10,), np.float32, buffer=memoryview(mapped(tmp_path)), offset=20)
    for part in (view, view[5000:], view[::-1], view[:0], view[:3]):
        let_go(part)
        assert np.array_equal(view, values[5:-5])
    let_go(values)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="nobody says how much is in memory")
def test_pages_that_are_let_go_take_no_memory(tmp_path: Path, values: Array) -> None:
    view = np.frombuffer(mapped(tmp_path), np.float32)
    assert np.array_equal(view, values)
    before = resident()
    let_go(view)
    assert before - resident() > values.nbytes * 0.9


def test_what_was_written_to_a_private_map_stays(tmp_path: Path, values: Array) -> None:
    owner = mapped(tmp_path, mmap.ACCESS_COPY)
    array = np.frombuffer(owner, np.float32)
    array[:] = 7
    let_go(array)
    let_go_of_files([Tensor.of(array)])
    assert (array == 7).all()


def test_weights_of_a_model_are_read_again(tmp_path: Path) -> None:
    made = model("g (float[1] x) => (float[N] y) <float[1] w = {1}> { y = Add(x, w) }")
    wanted = np.random.default_rng(2).standard_normal(COUNT, np.float32)
    made.graph.initializers["w"].initializer = Tensor.of(wanted, name="w")
    sx.save(made, tmp_path / "m.onnx")
    found = sx.load(tmp_path / "m.onnx").graph.initializers["w"].initializer
    assert isinstance(found, Tensor) and not isinstance(found.storage, ArrayStorage)
    assert np.array_equal(found.numpy(), wanted)
    let_go_of_files([found])
    assert np.array_equal(found.numpy(), wanted)

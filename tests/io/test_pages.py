"""Pages of mapped files: released pages are read again, and no other pages are released."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.io.memory_release import release_file_pages, release_pages
from sardonyx._src.ir import Array, Tensor
from sardonyx._src.ir.tensors import ArrayStorage

COUNT = 1 << 20  # elements


@pytest.fixture
def values(tmp_path: Path) -> Array:
    numbers = np.random.default_rng(1).standard_normal(COUNT, np.float32)
    (tmp_path / "data").write_bytes(numbers.tobytes())
    return numbers


def map_file(folder: Path, access: int = mmap.ACCESS_READ) -> mmap.mmap:
    with (folder / "data").open("r+b") as file:
        return mmap.mmap(file.fileno(), 0, access=access)


def resident() -> int:
    """Resident bytes of mapped files."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssFile"))


def test_pages_of_a_file_are_released_and_read_again(tmp_path: Path, values: Array) -> None:
    view = np.ndarray((COUNT - 10,), np.float32, buffer=memoryview(map_file(tmp_path)), offset=20)
    for part in (view, view[5000:], view[::-1], view[:0], view[:3]):
        release_pages(part)
        assert np.array_equal(view, values[5:-5])
    release_pages(values)


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the system does not report resident memory"
)
def test_released_pages_take_no_memory(tmp_path: Path, values: Array) -> None:
    view = np.frombuffer(map_file(tmp_path), np.float32)
    assert np.array_equal(view, values)
    before = resident()
    release_pages(view)
    assert before - resident() > values.nbytes * 0.9


def test_what_was_written_to_a_private_map_stays(tmp_path: Path, values: Array) -> None:
    owner = map_file(tmp_path, mmap.ACCESS_COPY)
    array = np.frombuffer(owner, np.float32)
    array[:] = 7
    release_pages(array)
    release_file_pages([Tensor.of(array)])
    assert (array == 7).all()


def test_weights_of_a_model_are_read_again(tmp_path: Path) -> None:
    model = parse_model("g (float[1] x) => (float[N] y) <float[1] w = {1}> { y = Add(x, w) }")
    weights = np.random.default_rng(2).standard_normal(COUNT, np.float32)
    model.graph.initializers["w"].initializer = Tensor.of(weights, name="w")
    sx.save(model, tmp_path / "m.onnx")
    tensor = sx.load(tmp_path / "m.onnx").graph.initializers["w"].initializer
    assert isinstance(tensor, Tensor) and not isinstance(tensor.storage, ArrayStorage)
    assert np.array_equal(tensor.numpy(), weights)
    release_file_pages([tensor])
    assert np.array_equal(tensor.numpy(), weights)

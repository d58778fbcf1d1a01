"""Replacing files: all or nothing, and never through a link."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from descriptors import count_descriptors
from sardonyx._src.dtypes import Array, DataType
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.external import ExternalFiles, folders
from sardonyx._src.io.external.folders import Folder
from sardonyx._src.io.saving.save import save
from sardonyx._src.io.serde import from_proto
from sardonyx._src.ir import Graph, Model, Tensor, Value
from sardonyx._src.ir.tensors import Storage
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode

ONES, TWOS = (np.full(30_000, n, np.float32) for n in (1, 2))


@pytest.fixture(autouse=True, params=["dir_fd", "compared"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs every test twice: with directory descriptors, and as on a platform without them."""
    monkeypatch.setattr(folders, "HAS_DIR_FD", request.param == "dir_fd")


@pytest.fixture(autouse=True)
def no_leaks(tmp_path: Path) -> Iterator[None]:
    before = count_descriptors(tmp_path)
    yield
    assert count_descriptors(tmp_path) == before


def model_of(*tensors: Tensor) -> Model:
    values = []
    for i, tensor in enumerate(tensors):
        tensor.name = f"w{i}"
        values.append(Value(tensor.name, None, tensor))
    return Model(Graph("g", (), values), ir_version=10, opset_imports={"": 21})


def old_files(folder: Path) -> dict[str, bytes]:
    save(model_of(Tensor.of(ONES)), folder / "m.onnx", external="w", checksum=True)
    return content(folder)


def content(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def load(path: Path) -> Model:
    return from_proto.model(decode(path.read_bytes(), m.ModelProto), ExternalFiles(path))


def numbers(model: Model) -> Array:
    tensor = model.graph.initializers["w0"].initializer
    assert isinstance(tensor, Tensor)
    return tensor.numpy()


class Failing:
    """A storage that fails to read its elements."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def array(self, dtype: DataType, shape: tuple[int, ...]) -> Array:
        raise self.error


def failing(storage: Storage) -> Tensor:
    return Tensor(DataType.FLOAT, (30_000,), storage)


# --- failures ------------------------------------------------------------------------------------


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """Makes writes past `size` bytes of a file fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_old_files_whole(tmp_path: Path) -> None:
    before = old_files(tmp_path)
    with disk_of(100_000), pytest.raises(OSError, match="w'") as e:
        save(model_of(Tensor.of(TWOS)), tmp_path / "m.onnx", external="w")
    assert (e.value.errno, e.value.filename) == (errno.EFBIG, str(tmp_path / "w"))
    assert content(tmp_path) == before


def test_no_room_for_the_model_leaves_the_old_data_too(tmp_path: Path) -> None:
    before = old_files(tmp_path)
    model = model_of(Tensor.of(TWOS[:2000]))
    model.doc = "x" * 20_000
    with disk_of(10_000), pytest.raises(OSError, match=r"m\.onnx'"):
        save(model, tmp_path / "m.onnx", external="w")
    assert content(tmp_path) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), ExternalDataError("bad")], ids=repr)
def test_a_tensor_that_fails_leaves_the_old_files_whole(tmp_path: Path, error: BaseException) -> None:
    before = old_files(tmp_path)
    with pytest.raises(type(error)):
        save(model_of(Tensor.of(TWOS), failing(Failing(error))), tmp_path / "m.onnx", external="w")
    assert content(tmp_path) == before


def test_data_that_are_gone_leave_the_old_files_whole(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    old_files(tmp_path / "old")
    model = load(tmp_path / "old" / "m.onnx")
    (tmp_path / "old" / "w").unlink()
    (tmp_path / "new").mkdir()
    before = old_files(tmp_path / "new")
    for external in (None, False, "w"):
        with pytest.raises(ExternalDataError, match="'w' must exist in"):
            save(model, tmp_path / "new" / "m.onnx", external=external)
        assert content(tmp_path / "new") == before


KILLED = """
import os, signal, sys
import numpy as np
from sardonyx._src.dtypes import DataType
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir import Graph, Value
from sardonyx._src.ir import Model
from sardonyx._src.ir import Tensor

class Killing:
    def array(self, dtype, shape):
        os.kill(os.getpid(), signal.SIGKILL)

tensors = Tensor.of(np.full(30_000, 2, np.float32)), Tensor(DataType.FLOAT, (30_000,), Killing())
values = [Value(f"w{i}", None, tensor) for i, tensor in enumerate(tensors)]
save(Model(Graph("g", (), values), ir_version=10, opset_imports={"": 21}), sys.argv[1], external="w")
"""


def test_a_killed_process_leaves_the_old_files_whole(tmp_path: Path) -> None:
    before = old_files(tmp_path)
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "m.onnx")], check=False)
    assert done.returncode == -signal.SIGKILL
    after = content(tmp_path)
    left = {name for name in after if name not in before}
    assert {name: after[name] for name in before} == before
    assert len(left) == 1
    assert all(name.startswith(".sardonyx-") and name.endswith(".tmp") for name in left)


def test_a_file_that_cannot_be_replaced_leaves_no_temporary_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Folder.rename

    def refuse_model(self: Folder, old: str, new: str) -> None:
        if new == "m.onnx":
            raise PermissionError(errno.EPERM, "Operation not permitted", old, None, new)
        rename(self, old, new)

    before = old_files(tmp_path)
    monkeypatch.setattr(Folder, "rename", refuse_model)
    with pytest.raises(PermissionError) as e:
        save(model_of(Tensor.of(TWOS)), tmp_path / "m.onnx", external="w")
    assert str(e.value) == f"[Errno 1] Operation not permitted: '{tmp_path / 'm.onnx'}'"
    after = content(tmp_path)
    assert set(after) == {"m.onnx", "w"}
    assert after["m.onnx"] == before["m.onnx"]


def test_all_files_are_on_disk_before_the_first_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, rename = os.fsync, Folder.rename

    def note_fsync(fd: int) -> None:
        steps.append("sync directory" if os.path.isdir(f"/proc/self/fd/{fd}") else "sync")
        fsync(fd)

    def note_rename(self: Folder, old: str, new: str) -> None:
        steps.append(new)
        rename(self, old, new)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(Folder, "rename", note_rename)
    save(model_of(Tensor.of(ONES), Tensor.of(TWOS)), tmp_path / "m.onnx", external="w", shard_size=1)
    assert steps[:6] == ["sync", "sync", "sync", "w-00001-of-00002", "w-00002-of-00002", "m.onnx"]
    assert steps[6:] == (["sync directory"] if folders.HAS_DIR_FD else [])


# --- existing files ------------------------------------------------------------------------------


def test_a_model_is_saved_over_the_files_it_is_mapped_from(tmp_path: Path) -> None:
    tensors = Tensor.of(ONES), Tensor.of(TWOS)
    save(model_of(*tensors), tmp_path / "m.onnx", external="w")
    model = load(tmp_path / "m.onnx")
    model.graph.remove_initializer(model.graph.initializers["w1"])
    save(model, tmp_path / "m.onnx", external="w")
    assert (tmp_path / "w").stat().st_size == 120_000
    assert numbers(load(tmp_path / "m.onnx")).tolist() == ONES.tolist()
    assert numbers(model).tolist() == ONES.tolist()
    save(model, tmp_path / "m.onnx", external=False)
    assert numbers(load(tmp_path / "m.onnx")).tolist() == ONES.tolist()


def test_old_data_files_under_other_names_stay(tmp_path: Path) -> None:
    before = old_files(tmp_path)
    save(load(tmp_path / "m.onnx"), tmp_path / "m.onnx")
    assert set(content(tmp_path)) == {"m.onnx", "m.onnx.data", "w"}
    assert content(tmp_path)["w"] == before["w"]


def test_links_are_replaced_and_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    save(model_of(Tensor.of(TWOS)), tmp_path / "blobs" / "m.onnx", external="w")
    precious = content(tmp_path / "blobs")
    for name in ("m.onnx", "w"):
        (tmp_path / name).symlink_to(f"blobs/{name}")
    save(model_of(Tensor.of(ONES)), tmp_path / "m.onnx", external="w")
    assert content(tmp_path / "blobs") == precious
    assert not (tmp_path / "m.onnx").is_symlink()
    assert not (tmp_path / "w").is_symlink()
    assert numbers(load(tmp_path / "m.onnx")).tolist() == ONES.tolist()


def test_dangling_links_are_replaced_too(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").symlink_to("absent")
    save(model_of(Tensor.of(ONES)), tmp_path / "m.onnx")
    assert set(content(tmp_path)) == {"m.onnx"}


def test_other_names_of_a_file_keep_its_content(tmp_path: Path) -> None:
    save(model_of(Tensor.of(TWOS)), tmp_path / "m.onnx", external="w")
    (tmp_path / "precious").hardlink_to(tmp_path / "w")
    save(model_of(Tensor.of(ONES)), tmp_path / "m.onnx", external="w")
    assert (tmp_path / "precious").read_bytes() == TWOS.tobytes()
    assert (tmp_path / "w").stat().st_nlink == 1


@pytest.mark.parametrize("target", ["elsewhere", "."])
def test_a_linked_directory_for_data_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "sub").symlink_to(target)
    with pytest.raises(OSError, match=r"symbolic links are not followed here: '.*sub'"):
        save(model_of(Tensor.of(ONES)), tmp_path / "m.onnx", external="sub/w")
    assert not list((tmp_path / "elsewhere").iterdir())
    assert not (tmp_path / "m.onnx").exists()


@pytest.mark.parametrize("name", ["m.onnx", "w"])
def test_pipes_are_not_replaced(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(FileExistsError, match=f"must be a regular file; .* pass the file object: '.*{name}'"):
        save(model_of(Tensor.of(ONES)), tmp_path / "m.onnx", external="w")
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_the_umask_decides_who_may_read(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        save(model_of(Tensor.of(ONES)), tmp_path / "m.onnx", external="w")
    finally:
        os.umask(old)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("m.onnx", "w")] == [0o640, 0o640]


@pytest.mark.parametrize("shard_size", [None, 1])
def test_data_files_of_other_models_are_not_replaced(shard_size: int | None, tmp_path: Path) -> None:
    def save_as(name: str, elements: Array, external: str | bool) -> None:
        tensors = Tensor.of(elements), Tensor.of(elements + 1)
        save(model_of(*tensors), tmp_path / name, external=external, shard_size=shard_size)

    save_as("a.onnx", ONES, "w.bin")
    before = content(tmp_path)
    for name, external in (("b.onnx", "w.bin"), ("b.onnx", "./w.bin")):
        with pytest.raises(
            ExternalDataError, match=r"w[-\w]*\.bin' must be new, or one that 'b\.onnx' refers to so far"
        ):
            save_as(name, TWOS, external)
    assert content(tmp_path) == before
    save_as("a.onnx", TWOS, "w.bin")  # its own
    assert numbers(load(tmp_path / "a.onnx")).tolist() == TWOS.tolist()


def test_a_data_file_stays_that_of_a_model_under_another_name(tmp_path: Path) -> None:
    save(model_of(Tensor.of(ONES)), tmp_path / "m.onnx", external=True)
    (tmp_path / "m.onnx").rename(tmp_path / "old.onnx")
    with pytest.raises(ExternalDataError, match="choose another name, or remove the file first"):
        save(model_of(Tensor.of(TWOS)), tmp_path / "m.onnx", external=True)
    assert numbers(load(tmp_path / "old.onnx")).tolist() == ONES.tolist()


def test_a_model_is_not_replaced_by_data(tmp_path: Path) -> None:
    for name in ("a.onnx", "b.onnx"):
        save(model_of(Tensor.of(ONES)), tmp_path / name)
    with pytest.raises(ExternalDataError, match=r"the data file 'a\.onnx' must be new"):
        save(model_of(Tensor.of(TWOS)), tmp_path / "b.onnx", external="a.onnx")

"""Temporary files of a killed save: the next save into their folder removes them, and no others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.io.external import folders
from sardonyx._src.io.saving import folder_lock
from sardonyx._src.io.saving.staging import Staging
from sardonyx._src.ir import Graph, Model, Tensor, Value

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no flock")

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

tensors = Tensor.of(np.full(3000, 2, np.float32)), Tensor(DataType.FLOAT, (3000,), Killing())
values = [Value(f"w{i}", None, tensor) for i, tensor in enumerate(tensors)]
save(Model(Graph("g", (), values), ir_version=10, opset_imports={"": 21}), sys.argv[1], external=sys.argv[2], shard_size=1)
"""


@pytest.fixture(autouse=True, params=["dir_fd", "compared"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs every test twice: with directory descriptors, and as on a platform without them."""
    monkeypatch.setattr(folders, "HAS_DIR_FD", request.param == "dir_fd")


def model() -> Model:
    tensor = Tensor.of(np.ones(3000, np.float32), name="w")
    return Model(Graph("g", (), [Value("w", None, tensor)]), ir_version=10, opset_imports={"": 21})


def kill_save(target: Path, external: str) -> None:
    """Kills a process while it saves a model to the target."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(target), external], check=False)
    assert done.returncode == -signal.SIGKILL


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_later_save_of_the_target_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    for _ in range(2):
        kill_save(tmp_path / "m.onnx", "sub/w")
    assert names(tmp_path) == ["sub"] and len(names(tmp_path / "sub")) == 2
    sx.save(model(), tmp_path / "m.onnx", external="sub/w")
    assert (names(tmp_path), names(tmp_path / "sub")) == (["m.onnx", "sub"], ["w"])


def test_data_files_of_other_names_are_swept(tmp_path: Path) -> None:
    kill_save(tmp_path / "m.onnx", "w")
    assert len(names(tmp_path)) == 2
    sx.save(model(), tmp_path / "m.onnx")
    assert names(tmp_path) == ["m.onnx"]


def test_files_of_a_save_under_way_stay(tmp_path: Path) -> None:
    with Staging(str(tmp_path)) as staging:
        with staging.create(["a"]) as file:
            file.write(b"first")
        sx.save(model(), tmp_path / "m.onnx")
        with staging.create(["b"]) as file:
            file.write(b"second")
        sx.save(model(), tmp_path / "m.onnx")
        staging.commit()
    assert names(tmp_path) == ["a", "b", "m.onnx"]
    assert (tmp_path / "a").read_bytes() == b"first"


def test_other_files_stay(tmp_path: Path) -> None:
    others = [".sardonyx-save-0.tmp", "x.tmp", ".sardonyx-save-0123456789abcdef.tmp.txt"]
    for name in others:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / ".sardonyx-save-0123456789abcdef.tmp").mkdir()
    (tmp_path / ".sardonyx-save-123456789abcdef0.tmp").symlink_to("x.tmp")
    sx.save(model(), tmp_path / "m.onnx")
    assert names(tmp_path) == sorted([*others, ".sardonyx-save-0123456789abcdef.tmp", "m.onnx"])


def test_a_held_lock_delays_no_save_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    monkeypatch.setattr(folder_lock, "PAUSE", 0)
    fd = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    sx.save(model(), tmp_path / "m.onnx")
    os.close(fd)
    assert names(tmp_path) == ["m.onnx"]


def test_a_file_system_without_locks_is_saved_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def refuse(fd: int, operation: int) -> None:
        raise OSError(38, "Function not implemented")

    kill_save(tmp_path / "m.onnx", "w")
    monkeypatch.setattr(fcntl, "flock", refuse)
    sx.save(model(), tmp_path / "m.onnx")
    assert len(names(tmp_path)) == 3

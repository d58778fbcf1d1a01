"""Cache folders that are only read: another user's, a read-only one, and a second folder that receives new programs."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.linker import features
from sardonyx._src.compile.llvm.cache import WARNED_OF
from sardonyx._src.io import file_stamps
from sardonyx._src.io.external.folders import Folder
from sardonyx._src.runtime.engine import shared_programs
from sardonyx._src.runtime.saved_programs import disk_cache

pytestmark = pytest.mark.skipif(
    features.saved_program_machine() is None, reason="programs are not saved here"
)

SCALED = """g (float[N,2] x, bool c) => (float[] y) <float[2] w = {%d, 1}, int64[1] last = {-1}> { a = Mul(x, w)
  b = If <then_branch = t () => (float[?] p) { p = ReduceSum <keepdims = 0>(a, last) },
          else_branch = e () => (float[?,?] q) { q = Neg(a) }>(c)
  y = Abs(b) }"""
FEEDS = {"x": np.array([[1, 2], [3, 4]], np.float32), "c": np.array(False)}
OTHER_USER = 54_321


def save_model(path: Path, factor: int = 3) -> Path:
    sx.save(parse_model(SCALED % factor), path)
    return path


def start_session(path: Path) -> sx.Session:
    """A session as in a new process: no program is shared with earlier sessions."""
    shared_programs.SHARED_PROGRAMS.clear()
    disk_cache.OPEN_PROGRAMS.clear()
    WARNED_OF.clear()
    return sx.Session(path, engine="native", threads=1)


def compilations(path: Path, factor: int = 3) -> int:
    """The number of compilations of a session's start; its first run must be right."""
    session = start_session(path)
    result = session.stats.compilations
    np.testing.assert_array_equal(session.run(FEEDS)["y"], FEEDS["x"] * np.array([factor, 1], np.float32))
    return result


def programs(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("programs/*"))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model whose program is in the folder `shared`, which is only read; `own` receives other programs."""
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "shared"))
    path = save_model(tmp_path / "m.onnx")
    start_session(path)
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("SARDONYX_SHARED_CACHE", os.pathsep.join(["/nowhere", str(tmp_path / "shared")]))
    return path


def test_programs_are_read_there_and_written_to_the_other_folder(path: Path, tmp_path: Path) -> None:
    before = programs(tmp_path / "shared")
    assert compilations(path) == 0
    session = start_session(path)
    for _ in range(2):
        session.run(FEEDS)
    specialized = programs(tmp_path / "own")
    assert len(specialized) == 1 and specialized[0].startswith(before[0].removesuffix(".sdx"))
    session = start_session(path)
    session.run(FEEDS)
    assert (session.stats.compilations, session.stats.specializations) == (0, 1)
    other = save_model(tmp_path / "other.onnx", 5)
    assert compilations(other, 5) == 1
    assert compilations(other, 5) == 0
    assert programs(tmp_path / "shared") == before and len(programs(tmp_path / "own")) >= 2


def test_without_a_folder_of_its_own_a_process_reads_all_the_same(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARDONYX_CACHE", "")
    assert compilations(path) == 0
    assert compilations(save_model(tmp_path / "other.onnx", 5), 5) == 1
    assert len(programs(tmp_path / "shared")) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_the_folder_of_another_user_is_used_if_it_is_named(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shared = tmp_path / "shared"
    for file in [shared, *shared.rglob("*")]:
        os.chown(file, OTHER_USER, OTHER_USER)
    assert compilations(path) == 0
    (entry,) = shared.glob("programs/*")
    entry.chmod(0o666)
    assert compilations(path) == 1 and "others must not have permission" in caplog.text
    entry.chmod(0o600)
    os.chown(entry, OTHER_USER + 1, OTHER_USER)
    monkeypatch.setenv("SARDONYX_CACHE", "")
    assert compilations(path) == 1 and "its owner must be" in caplog.text
    os.chown(entry, OTHER_USER, OTHER_USER)
    assert compilations(path) == 0
    monkeypatch.setenv("SARDONYX_CACHE", str(shared))
    monkeypatch.setenv("SARDONYX_SHARED_CACHE", "")
    assert compilations(path) == 1


def test_a_damaged_entry_stays_there(path: Path, tmp_path: Path) -> None:
    (entry,) = (tmp_path / "shared").glob("programs/*")
    entry.write_bytes(entry.read_bytes()[:-1])
    assert [compilations(path) for _ in range(2)] == [1, 0]
    assert entry.exists()


def test_a_read_only_cache_is_read(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "shared"))
    monkeypatch.setenv("SARDONYX_SHARED_CACHE", "")

    def refuse(self: Folder, name: str, mode: int) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), name)

    other = save_model(tmp_path / "other.onnx", 5)
    monkeypatch.setattr(Folder, "create", refuse)
    before = programs(tmp_path / "shared")
    assert compilations(path) == 0
    assert compilations(other, 5) == 1
    assert programs(tmp_path / "shared") == before

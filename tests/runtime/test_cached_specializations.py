"""Specialized programs in the disk cache: a later process is native from its first run on, and compiles nothing."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.linker import features
from sardonyx._src.compile.llvm.cache import WARNED_OF
from sardonyx._src.errors import CompilerWarning
from sardonyx._src.io import file_stamps
from sardonyx._src.ir import Array
from sardonyx._src.runtime.engine import shared_programs
from sardonyx._src.runtime.identity import model_stamps
from sardonyx._src.runtime.saved_programs import disk_cache, entry_names, specialized_entries
from sardonyx._src.runtime.specialization.shared import MAX_PROGRAMS

pytestmark = pytest.mark.skipif(
    features.saved_program_machine() is None, reason="programs are not saved here"
)

BRANCHES = """g (float[N,4] x, bool c) => (float[] y) <int64[1] last = {-1}, float[4] w = {1, 2, 3, 4}> {
  a = Sin(x)
  b = If <then_branch = t () => (float[?] p) { p = ReduceSum <keepdims = 0>(a, last) },
          else_branch = e () => (float[?,?] q) { q = Mul(a, w) }>(c)
  d = Mul(b, b)  y = %s(d) }"""
RESHAPED = (
    "g (float[N] x, int64[K] s) => (float[] y) { a = Reshape(x, s)  b = Sin(a)  c = Mul(b, b)  y = Neg(c) }"
)
SHAPES = ([6, 4], [2, 3, 4], [24], [2, 3, 2, 2], [1, 2, 3, 2, 2], [1, 1, 2, 3, 2, 2])
START = """
import sys
import numpy as np
import sardonyx as sx
session = sx.Session(sys.argv[1], engine="native", threads=1)
for _ in range(2):
    y = session.run({"x": np.ones((2, 4), np.float32), "c": np.array(True)})["y"]
stats = session.stats
print(stats.compilations, stats.specializations, stats.fallback_nodes, "llvmlite" in sys.modules, y.tolist())
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder for the test, for which no file is racily clean."""
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))
    return tmp_path / "cache" / "programs"


def save_model(path: Path, text: str) -> Path:
    sx.save(parse_model(text), path)
    return path


def start_session(path: Path) -> sx.Session:
    """A session as in a new process: no program is shared with earlier sessions."""
    shared_programs.SHARED_PROGRAMS.clear()
    disk_cache.OPEN_PROGRAMS.clear()
    return sx.Session(path, engine="native", threads=1)


def run_twice(session: sx.Session, feeds: Mapping[str, Array]) -> Array:
    """The outputs of the second run, which is native; the first one may sum in another order."""
    first, second = (np.asarray(session.run(feeds)["y"]) for _ in range(2))
    np.testing.assert_allclose(first, second, 1e-5, 1e-6)
    return second


def branch_feeds(condition: bool, rows: int = 3) -> dict[str, Array]:
    x = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
    return {"x": x, "c": np.array(condition)}


def reshape_feeds(shape: list[int]) -> dict[str, Array]:
    return {"x": np.arange(24, dtype=np.float32), "s": np.array(shape, np.int64)}


def specialized(folder: Path) -> list[Path]:
    """The entries of specialized programs, whose names have three parts."""
    return sorted(path for path in folder.iterdir() if path.stem.count("-") == 2)


@pytest.mark.parametrize("condition", [True, False])
def test_a_second_start_compiles_nothing(tmp_path: Path, folder: Path, condition: bool) -> None:
    path = save_model(tmp_path / "m.onnx", BRANCHES % "Sigmoid")
    first = start_session(path)
    expected = run_twice(first, branch_feeds(condition))
    assert first.stats.compilations >= 2  # the general program, and the specialized one
    assert len(specialized(folder)) == 1
    second = start_session(path)
    for rows in (3, 3, 5, 3):
        actual = np.asarray(second.run(branch_feeds(condition, rows))["y"])
        np.testing.assert_array_equal(actual, run_twice(first, branch_feeds(condition, rows)))
    np.testing.assert_array_equal(actual, expected)
    stats = second.stats
    assert (stats.compilations, stats.specializations, stats.fallback_nodes) == (0, 1, 0)
    assert not stats.bailouts


def test_a_new_process_loads_no_compiler(tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx", BRANCHES % "Tanh")
    time.sleep(0.2)  # until the file is no longer racily clean
    run_twice(start_session(path), branch_feeds(True))
    command = [sys.executable, "-c", START, str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    value = np.tanh(np.float32(16 * np.sin(1.0) ** 2)).tolist()
    assert printed.startswith("0 1 0 False ")
    np.testing.assert_allclose(eval(printed.split(" ", 4)[4]), [value, value], 1e-6)


def test_other_branches_are_compiled_and_kept_as_well(tmp_path: Path, folder: Path) -> None:
    path = save_model(tmp_path / "m.onnx", BRANCHES % "Sigmoid")
    run_twice(start_session(path), branch_feeds(True))
    second = start_session(path)
    expected = sx.Session(path, engine="reference").run(branch_feeds(False))["y"]
    np.testing.assert_allclose(run_twice(second, branch_feeds(False)), np.asarray(expected), 1e-5)
    assert second.stats.bailouts.keys() == {"b takes then_branch"}
    assert len(specialized(folder)) == 2
    third = start_session(path)
    for condition in (True, False, True):
        third.run(branch_feeds(condition))
    assert (third.stats.compilations, third.stats.specializations) == (0, 2)


def test_entries_are_few(tmp_path: Path, folder: Path) -> None:
    path = save_model(tmp_path / "m.onnx", RESHAPED)
    session = start_session(path)
    for shape in SHAPES:
        for _ in range(5):
            run_twice(session, reshape_feeds(shape))
    assert len(specialized(folder)) == MAX_PROGRAMS
    later = start_session(path)
    for shape in SHAPES[-MAX_PROGRAMS:]:
        actual = np.asarray(later.run(reshape_feeds(shape))["y"])
        np.testing.assert_array_equal(actual, run_twice(session, reshape_feeds(shape)))
    assert (later.stats.compilations, later.stats.specializations) == (0, MAX_PROGRAMS)


@pytest.mark.parametrize("place", [0, 40, 5000, -1])
def test_a_damaged_entry_is_logged_and_replaced(
    tmp_path: Path, folder: Path, place: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = save_model(tmp_path / "m.onnx", BRANCHES % "Sigmoid")
    expected = run_twice(start_session(path), branch_feeds(False))
    (entry,) = specialized(folder)
    content = bytearray(entry.read_bytes())
    if place < 0:
        del content[4200:]
    else:
        content[place] ^= 1
    entry.write_bytes(content)
    session = start_session(path)
    with caplog.at_level(logging.WARNING):
        np.testing.assert_allclose(run_twice(session, branch_feeds(False)), expected, 1e-5)
    assert str(entry) in caplog.text and "damaged" in caplog.text
    assert session.stats.compilations > 0
    later = start_session(path)
    run_twice(later, branch_feeds(False))
    assert later.stats.compilations == 0


@pytest.mark.parametrize("is_other_model", [True, False])
def test_a_copied_entry_is_refused(
    tmp_path: Path, folder: Path, is_other_model: bool, caplog: pytest.LogCaptureFixture
) -> None:
    paths = [save_model(tmp_path / f"{name}.onnx", BRANCHES % name) for name in ("Sigmoid", "Neg")]
    feeds = branch_feeds(False)
    expected = [run_twice(start_session(path), feeds) for path in paths]
    general = [
        entry_names.entry_path(model_stamps.stamp_source(path) or file_stamps.BytesStamp(""))
        for path in paths
    ]
    entries = [next(e for e in specialized(folder) if g and e.stem.startswith(g.stem)) for g in general]
    if is_other_model:
        entries[1].write_bytes(entries[0].read_bytes())
    else:  # of the same model, for other assumptions
        run_twice(start_session(paths[1]), branch_feeds(True))
        (other,) = (e for e in specialized(folder) if e not in entries)
        entries[1].write_bytes(other.read_bytes())
    with caplog.at_level(logging.WARNING):
        session = start_session(paths[1])
        np.testing.assert_allclose(run_twice(session, feeds), expected[1], 1e-5)
    assert session.stats.compilations > 0 and "it is the entry" in caplog.text


def test_code_that_others_may_have_written_is_not_run(
    tmp_path: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = save_model(tmp_path / "m.onnx", BRANCHES % "Sigmoid")
    run_twice(start_session(path), branch_feeds(True))
    (entry,) = specialized(folder)
    entry.chmod(0o777)
    WARNED_OF.clear()
    session = start_session(path)
    with caplog.at_level(logging.WARNING):
        run_twice(session, branch_feeds(True))
    assert session.stats.compilations > 0 and str(entry) in caplog.text
    assert entry.stat().st_mode & 0o777 == 0o600


def test_an_entry_that_cannot_be_bound_is_removed(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("no such base")

    path = save_model(tmp_path / "m.onnx", BRANCHES % "Sigmoid")
    expected = run_twice(start_session(path), branch_feeds(True))
    shared_programs.SHARED_PROGRAMS.clear()
    disk_cache.OPEN_PROGRAMS.clear()
    monkeypatch.delenv("SARDONYX_FATAL_DEFECTS")
    session = sx.Session(path, threads=1)
    with monkeypatch.context() as context:
        context.setattr(specialized_entries, "SavedProgram", fail)
        with pytest.warns(CompilerWarning, match="no such base"):
            np.testing.assert_allclose(np.asarray(session.run(branch_feeds(True))["y"]), expected, 1e-5)
    assert not specialized(folder)


def test_entries_are_for_the_user_alone(tmp_path: Path, folder: Path) -> None:
    old = os.umask(0)
    try:
        run_twice(start_session(save_model(tmp_path / "m.onnx", BRANCHES % "Sigmoid")), branch_feeds(True))
    finally:
        os.umask(old)
    (entry,) = specialized(folder)
    assert entry.stat().st_mode & 0o777 == 0o600

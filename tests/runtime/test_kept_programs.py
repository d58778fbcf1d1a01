"""Programs kept on disk: a second start opens what the first has made, and nothing that a caller sees tells them apart."""

from __future__ import annotations

import errno
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import model
from sardonyx._src.compile.program import Program
from sardonyx._src.compile.saved import container, features
from sardonyx._src.io.pages import file_of
from sardonyx._src.ir.graph import Model
from sardonyx._src.runtime import engine, kept, unchanged
from sardonyx._src.runtime.engine import NativeEngine, program_of
from sardonyx._src.runtime.kept import KeptEngine

pytestmark = pytest.mark.skipif(features.machine() is None, reason="programs are not saved here")

F = np.float32
TESTS = Path(__file__).parents[1]
PRODUCT = """g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {%d, 0, 0, %d}>
    { a = MatMul(x, w)  y = Relu(a) }"""
PICKED = "g (float[3] x, int64[N] i) => (float[N] y) { y = Gather(x, i) }"
DEFAULT = "g (float[2] x, float[2] b) => (float[2] y) <float[2] b = {1, 2}> { y = Add(x, b) }"
BRANCHES = """g (float[2] x, bool b) => (float[%s] y)
    { y = If (b) <then_branch = p () => (float[2] u) { u = Neg(x) }, else_branch = q () => (float[%s] v) { v = %s(x) }> }"""
RANDOM = "g (float[3] x) => (float[3] y) { r = RandomNormalLike(x)  y = Add(x, r) }"
START = """
import sys
import numpy as np
import sardonyx as sx
session = sx.Session(sys.argv[1], engine="native", threads=1)
y = session.run({"x": np.array([[1, -2], [3, 4]], np.float32)})["y"]
loaded = [m for m in sys.modules if m.startswith(("sardonyx._src.convert", "sardonyx._src.rewrite", "sardonyx._src.ops.math", "llvmlite"))]
print(type(session._runner).__name__, y.tolist(), loaded)
"""


COMPILED: list[Model] = []  # the models that were compiled, in order


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, in which files count as settled at once."""

    def noted(found: Model) -> Program:
        COMPILED.append(found)
        return program_of(found)

    COMPILED.clear()
    for module in (kept, engine):
        monkeypatch.setattr(module, "program_of", noted)
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(unchanged, "TICK", -(1 << 62))
    return tmp_path / "cache" / "programs"


def stored(path: Path, text: str) -> Path:
    sx.save(model(text), path)
    return path


def product(folder: Path, factor: int = 2) -> Path:
    return stored(folder / "m.onnx", PRODUCT % (factor, factor))


def started(path: Path, seed: int | None = None) -> sx.Session:
    """A session as a new process would make it: nothing is shared with those of before."""
    unchanged.COMPILED.clear()
    kept.MAPPED.clear()
    return sx.Session(path, engine="native", threads=1, seed=seed)


def is_kept(session: sx.Session) -> bool:
    """Whether a session runs what an earlier one has compiled."""
    assert isinstance(session._runner, NativeEngine)
    return isinstance(session._runner, KeptEngine) and session.model not in COMPILED


def results(session: sx.Session, rows: int = 3) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    x = np.random.default_rng(rows).standard_normal((rows, 2)).astype(F)
    found = session.run({"x": x})["y"]
    assert isinstance(found, np.ndarray)
    return found


def test_a_second_start_gives_what_the_first_did(tmp_path: Path) -> None:
    path = product(tmp_path)
    first, second = started(path), started(path)
    assert (is_kept(first), is_kept(second)) == (False, True)
    assert first.inputs == second.inputs and first.outputs == second.outputs
    for rows in (3, 0, 1, 3, 3, 3):
        np.testing.assert_array_equal(results(first, rows), results(second, rows))


def test_a_file_that_has_changed_is_compiled_anew(tmp_path: Path) -> None:
    started(product(tmp_path, 2))
    found = started(product(tmp_path, 3))
    assert not is_kept(found)
    assert np.array_equal(found.run({"x": np.ones((1, 2), F)})["y"], [[3, 3]])  # type: ignore[arg-type]


def test_a_file_that_may_still_be_written_is_not_kept(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unchanged, "TICK", 1 << 62)
    started(product(tmp_path))
    assert not folder.exists()


@pytest.mark.parametrize("place", [0, 40, 5000, -1])
def test_a_damaged_entry_is_told_and_made_anew(
    place: int, tmp_path: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = product(tmp_path)
    started(path)
    (entry,) = folder.iterdir()
    content = bytearray(entry.read_bytes())
    if place < 0:
        del content[4200:]
    else:
        content[place] ^= 1
    entry.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        found = started(path)
    assert not is_kept(found) and "damaged" in caplog.text
    assert is_kept(started(path))


def test_the_switch_is_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARDONYX_CACHE", "")
    path = product(tmp_path)
    assert not any(is_kept(started(path)) for _ in range(2))


def test_a_folder_that_cannot_be_made_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "file" / "folder"))
    with caplog.at_level(logging.INFO):
        assert results(started(product(tmp_path))).shape == (3, 2)
    assert "not kept" in caplog.text


def test_entries_used_longest_ago_go_first(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [stored(tmp_path / f"{i}.onnx", PRODUCT % (i, i)) for i in (1, 2, 3)]
    for path in paths[:2]:
        started(path)
    size = max(entry.stat().st_size for entry in folder.iterdir())
    time.sleep(0.02)
    assert is_kept(started(paths[0]))  # used again
    time.sleep(0.02)
    monkeypatch.setattr(kept, "CAP", 2 * size + size // 2)
    started(paths[2])
    assert [is_kept(started(path)) for path in (paths[0], paths[2], paths[1])] == [True, True, False]


def test_what_a_dead_writer_left_goes(tmp_path: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    old, new = folder / ".sardonyx-0.tmp", folder / ".sardonyx-1.tmp"
    for one in (old, new):
        one.write_bytes(b"")
    os.utime(old, (0, 0))
    started(product(tmp_path))
    assert (old.exists(), new.exists()) == (False, True)


def test_a_program_that_is_too_large_is_not_kept(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "LARGEST", 15)
    started(product(tmp_path))
    assert not folder.exists()


def test_branches_of_one_shape_are_kept(tmp_path: Path, folder: Path) -> None:
    path = stored(tmp_path / "m.onnx", BRANCHES % (2, 2, "Abs"))
    started(path)
    found = started(path)
    assert is_kept(found)
    x = np.array([1, -2], np.float32)
    for which, wanted in ((True, -x), (False, abs(x)), (True, -x)):
        np.testing.assert_array_equal(found.run({"x": x, "b": np.array(which)})["y"], wanted)


def test_branches_of_the_host_are_not_kept(tmp_path: Path, folder: Path) -> None:
    started(stored(tmp_path / "m.onnx", BRANCHES % ("N", "N", "Unique")))
    assert not folder.exists()


def test_models_with_data_in_other_files_are_not_kept(tmp_path: Path, folder: Path) -> None:
    sx.save(model(PRODUCT % (2, 2)), tmp_path / "m.onnx", external=True, threshold=1)
    started(tmp_path / "m.onnx")
    assert not folder.exists()


def test_the_reference_engine_stands_behind_a_kept_program(tmp_path: Path) -> None:
    path = stored(tmp_path / "m.onnx", PICKED)
    first, second = started(path), started(path)
    fed = {"x": np.zeros(3, F), "i": np.array([7])}
    said = []
    for one in (first, second):
        with pytest.raises(sx.EvaluationError) as caught:
            one.run(fed)
        said.append(str(caught.value))
    assert is_kept(second) and said[0] == said[1]
    assert [node.op_type for node, _ in second.trace({"x": fed["x"], "i": np.array([1])})] == ["Gather"]


def test_an_initializer_is_overridden(tmp_path: Path) -> None:
    path = stored(tmp_path / "m.onnx", DEFAULT)
    started(path)
    found = started(path)
    assert is_kept(found) and [port.has_default for port in found.inputs] == [False, True]
    x = np.array([1, 1], F)
    assert np.array_equal(found.run({"x": x})["y"], [2, 3])  # type: ignore[arg-type]
    assert np.array_equal(found.run({"x": x, "b": x})["y"], [2, 2])  # type: ignore[arg-type]


def test_random_numbers_are_those_of_the_seed(tmp_path: Path) -> None:
    path = stored(tmp_path / "m.onnx", RANDOM)
    first, second = started(path, seed=5), started(path, seed=5)
    assert is_kept(second)
    for _ in range(3):
        fed = {"x": np.zeros(3, F)}
        np.testing.assert_array_equal(first.run(fed)["y"], second.run(fed)["y"])


def test_memory_is_planned_as_ever(tmp_path: Path) -> None:
    path = product(tmp_path)
    first, second = started(path), started(path)
    assert is_kept(second)
    assert str(first.plan({"N": 5})) == str(second.plan({"N": 5}))


def test_sessions_of_one_entry_share_it(tmp_path: Path) -> None:
    path = product(tmp_path)
    started(path)
    one = started(path)
    other = sx.Session(path, engine="native", threads=2)
    assert isinstance(one._runner, KeptEngine) and isinstance(other._runner, KeptEngine)
    assert one._runner.kept is other._runner.kept
    one.close()
    assert results(other).shape == (3, 2)


def test_a_program_that_sessions_share_is_written_once(tmp_path: Path, folder: Path) -> None:
    path = product(tmp_path)
    first = started(path)
    (entry,) = folder.iterdir()
    before = entry.stat()
    second = sx.Session(path, engine="native", threads=1)
    assert (is_kept(first), is_kept(second)) == (False, True)
    assert entry.stat() == before


def test_weights_of_the_first_session_are_pages_of_its_entry(tmp_path: Path) -> None:
    first = started(product(tmp_path))
    assert isinstance(first._runner, KeptEngine)
    others = first._runner.kept.saved.others
    weights = [of.data for of in others if not isinstance(of, int) and of.data is not None]
    assert weights and all(file_of(data) for data in weights)


def test_a_disk_that_is_full_leaves_weights_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no room")

    path = product(tmp_path)
    monkeypatch.setattr(container, "Staging", refuse)
    with caplog.at_level(logging.INFO):
        found = started(path)
    assert not isinstance(found._runner, KeptEngine) and "no room" in caplog.text
    assert len(COMPILED) == 1
    assert np.array_equal(found.run({"x": np.ones((1, 2), F)})["y"], [[2, 2]])  # type: ignore[arg-type]


def test_two_processes_at_once_do_each_other_no_harm(tmp_path: Path) -> None:
    path = product(tmp_path)
    time.sleep(0.2)  # until the file has settled
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", START, str(path)]
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate()[0].split(" ", 1) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    third = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert third.strip() == "KeptEngine [[2.0, 0.0], [6.0, 8.0]] []"  # and nothing that compiles was loaded
    assert all(rest.startswith("[[2.0, 0.0], [6.0, 8.0]]") for _, rest in said)

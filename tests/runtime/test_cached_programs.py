"""The disk cache of programs: a second start opens the entry of the first and behaves the same."""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.linker import features
from sardonyx._src.compile.llvm.cache import WARNED_OF
from sardonyx._src.compile.program import EXACT, Buffer, Precision
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.io import file_stamps, mapped_files
from sardonyx._src.io.external import contents
from sardonyx._src.io.memory_release import mapped_file_of
from sardonyx._src.io.saving import staging
from sardonyx._src.ir import Model
from sardonyx._src.runtime.engine import engine, shared_programs
from sardonyx._src.runtime.engine.engine import NativeEngine, compile_releasing_weights
from sardonyx._src.runtime.identity import model_stamps, verified_files
from sardonyx._src.runtime.saved_programs import cache_entries, container, disk_cache, entry_aliases
from sardonyx._src.runtime.saved_programs.container import SDX_HEADER
from sardonyx._src.runtime.saved_programs.disk_cache import CachedEngine
from sardonyx._src.runtime.saved_programs.entry_names import entry_path

pytestmark = pytest.mark.skipif(
    features.saved_program_machine() is None, reason="programs are not saved here"
)

F = np.float32
TESTS = Path(__file__).parents[1]
PRODUCT = """g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {%d, 0, 0, %d}>
    { a = MatMul(x, w)  y = Relu(a) }"""
WEIGHTS = """g (float[N,4] x) => (float[N,4] y) <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2}, float[4] b = {1, 2, 3, 4}>
    { a = MatMul(x, w)  y = Sub(a, b) }"""
PICKED = "g (float[3] x, int64[N] i) => (float[N] y) { y = Gather(x, i) }"
DEFAULT = "g (float[2] x, float[2] b) => (float[2] y) <float[2] b = {1, 2}> { y = Add(x, b) }"
BRANCHES = """g (float[2] x, bool[1,1] fed) => (float[%s] y)
    { b = Squeeze(fed)  y = If (b) <then_branch = p () => (float[2] u) { u = Neg(x) }, else_branch = q () => (float[%s] v) { v = %s(x) }> }"""
LIKE_WEIGHTS = (
    "g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { a = RandomNormalLike(w)  y = Add(x, a) }"
)
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
    """A cache folder for the test, for which no file is racily clean."""

    def record_compilation(
        model: Model, *, tolerant: bool = False, precision: Precision = EXACT
    ) -> Executable:
        COMPILED.append(model)
        return compile_releasing_weights(model, tolerant=tolerant, precision=precision)

    COMPILED.clear()
    for module in (disk_cache, engine):
        monkeypatch.setattr(module, "compile_releasing_weights", record_compilation)
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))
    return tmp_path / "cache" / "programs"


def save_model(path: Path, text: str) -> Path:
    sx.save(parse_model(text), path)
    return path


def save_product(folder: Path, factor: int = 2) -> Path:
    return save_model(folder / "m.onnx", PRODUCT % (factor, factor))


def start_session(source: Path | bytes, seed: int | None = None) -> sx.Session:
    """A session as in a new process: no program is shared with earlier sessions."""
    shared_programs.SHARED_PROGRAMS.clear()
    disk_cache.OPEN_PROGRAMS.clear()
    return sx.Session(source, engine="native", threads=1, seed=seed)


def is_cached(session: sx.Session) -> bool:
    """Whether a session runs a program that an earlier session compiled."""
    assert isinstance(session._runner, NativeEngine)
    return isinstance(session._runner, CachedEngine) and session.model not in COMPILED


def entry_of(path: Path) -> Path | None:
    stamp = model_stamps.stamp_source(path)
    return None if stamp is None else entry_path(stamp)


def run_product(session: sx.Session, rows: int = 3) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    x = np.random.default_rng(rows).standard_normal((rows, 2)).astype(F)
    y = session.run({"x": x})["y"]
    assert isinstance(y, np.ndarray)
    return y


def wait_for_record(cache: Path, count: int = 1) -> None:
    """Waits until the entries that this process has written are on the disk."""
    end = time.monotonic() + 30
    while len(records(cache)) < count and time.monotonic() < end:
        time.sleep(0.01)


def records(cache: Path) -> list[Path]:
    return [path for path in (cache / "verified").glob("*") if path.suffix != ".tmp"]


def test_a_second_start_gives_what_the_first_did(tmp_path: Path) -> None:
    path = save_product(tmp_path)
    first, second = start_session(path), start_session(path)
    assert (is_cached(first), is_cached(second)) == (False, True)
    assert first.inputs == second.inputs and first.outputs == second.outputs
    for rows in (3, 0, 1, 3, 3, 3):
        np.testing.assert_array_equal(run_product(first, rows), run_product(second, rows))


def test_bytes_are_cached_by_their_content(tmp_path: Path, folder: Path) -> None:
    contents = [save_product(tmp_path, factor).read_bytes() for factor in (2, 3)]
    for content, factor in zip(contents, (2, 3), strict=True):
        first, second = start_session(content), start_session(bytes(bytearray(content)))
        assert (first.stats.compilations, second.stats.compilations) == (1, 0)
        assert is_cached(second)
        x = np.array([[1, 2]], F)
        for session in (first, second):
            np.testing.assert_array_equal(session.run({"x": x})["y"], factor * x)
        assert [node.op_type for node in second.model.graph.nodes] == ["MatMul", "Relu"]
    assert len(list(folder.iterdir())) == 2


def test_bytes_that_may_change_are_not_cached(tmp_path: Path, folder: Path) -> None:
    content = bytearray(save_product(tmp_path).read_bytes())
    for source in (content, memoryview(content)):
        shared_programs.SHARED_PROGRAMS.clear()
        sx.Session(source, engine="native", threads=1)
    assert not folder.exists()


def test_a_changed_file_is_recompiled(tmp_path: Path) -> None:
    start_session(save_product(tmp_path, 2))
    session = start_session(save_product(tmp_path, 3))
    assert not is_cached(session)
    assert np.array_equal(session.run({"x": np.ones((1, 2), F)})["y"], [[3, 3]])


def test_a_racily_clean_file_is_not_cached(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_stamps, "MAX_HASHED_FILE", 0)
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", 1 << 62)
    session = start_session(save_product(tmp_path))
    assert not folder.exists() and "were written a moment ago" in session.stats.uncached


@pytest.mark.parametrize("is_racy", [False, True])
def test_a_small_file_is_known_by_its_content(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_racy: bool
) -> None:
    if is_racy:
        monkeypatch.setattr(file_stamps, "RACY_WINDOW", 1 << 62)
    path = save_product(tmp_path)
    start_session(path)
    save_product(tmp_path)
    copy = shutil.copy(path, tmp_path / "copy.onnx")
    for source in (path, Path(copy), path.read_bytes()):
        assert is_cached(start_session(source))
    assert len([*folder.iterdir()]) == 1
    assert not is_cached(start_session(save_product(tmp_path, 3)))


def test_a_large_file_is_known_by_its_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_stamps, "MAX_HASHED_FILE", 16)
    monkeypatch.setattr(entry_aliases, "file_sample", lambda stamp: None)  # nothing is known by its content
    start_session(save_product(tmp_path))
    path = save_product(tmp_path)
    assert not is_cached(start_session(path))
    assert is_cached(start_session(path))


@pytest.mark.parametrize("place", [0, 40, 5000, -1])
def test_a_damaged_entry_is_logged_and_replaced(
    place: int, tmp_path: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = save_product(tmp_path)
    start_session(path)
    (entry,) = folder.iterdir()
    content = bytearray(entry.read_bytes())
    if place < 0:
        del content[4200:]
    else:
        content[place] ^= 1
    entry.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        session = start_session(path)
    assert not is_cached(session) and "damaged" in caplog.text
    assert is_cached(start_session(path))


def test_damaged_weights_are_noticed_wherever_they_are(tmp_path: Path, folder: Path) -> None:
    path = save_model(tmp_path / "m.onnx", WEIGHTS)
    start_session(path)
    (entry,) = folder.iterdir()
    x = np.ones((1, 4), F)
    expected = start_session(path).run({"x": x})["y"]
    first, size = constants_of(entry)
    for place in np.random.default_rng(3).integers(first, first + size, 10):
        content = bytearray(entry.read_bytes())
        content[place] ^= 0x40
        entry.write_bytes(content)
        session = start_session(path)
        assert not is_cached(session)
        np.testing.assert_array_equal(session.run({"x": x})["y"], expected)


def constants_of(entry: Path) -> tuple[int, int]:
    """The offset and size of the weights in an entry."""
    content = entry.read_bytes()
    first, length = SDX_HEADER.unpack_from(content)[3:5]
    offset, size, _ = json.loads(content[first : first + length])["sections"]["constants"]
    return offset, size


def test_weights_are_verified_once_per_version_of_an_entry(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save_model(tmp_path / "m.onnx", WEIGHTS)
    start_session(path)
    wait_for_record(folder.parent)
    (entry,) = folder.iterdir()
    verified: list[object] = []
    verify = container.Container.verify_constants

    def record(self: container.Container) -> None:
        verified.append(self)
        verify(self)

    monkeypatch.setattr(container.Container, "verify_constants", record)
    for expected in (1, 1, 1):
        verified_files.VERIFIED.clear()
        if not verified:
            os.utime(entry)  # another version: its record is that of the first
        assert is_cached(start_session(path))
        time.sleep(0.02)
        assert len(verified) == expected


def test_without_records_weights_are_verified_at_every_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save_model(tmp_path / "m.onnx", WEIGHTS)
    start_session(path)
    wait_for_record(tmp_path / "cache")
    (tmp_path / "cache" / "verified").chmod(0o777)
    verified: list[object] = []

    def record(self: container.Container) -> None:
        verified.append(self)

    monkeypatch.setattr(container.Container, "verify_constants", record)
    for _ in range(2):
        verified_files.VERIFIED.clear()
        assert is_cached(start_session(path))
    assert len(verified) == 2


def test_a_copied_entry_does_not_answer_for_another_model(
    tmp_path: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    paths = [save_model(tmp_path / f"{i}.onnx", PRODUCT % (i, i)) for i in (2, 3)]
    for path in paths:
        start_session(path)
    entries = [entry_of(path) for path in paths]
    assert entries[0] is not None and entries[1] is not None
    entries[1].write_bytes(entries[0].read_bytes())
    with caplog.at_level(logging.WARNING):
        session = start_session(paths[1])
    assert not is_cached(session) and f"it is the entry '{entries[0].stem}'" in caplog.text
    assert np.array_equal(session.run({"x": np.ones((1, 2), F)})["y"], [[3, 3]])


def test_entries_are_written_for_the_user_alone(tmp_path: Path, folder: Path) -> None:
    old = os.umask(0)
    try:
        start_session(save_product(tmp_path))
    finally:
        os.umask(old)
    (entry,) = folder.iterdir()
    modes = [path.stat().st_mode & 0o777 for path in (folder.parent, folder, entry)]
    assert modes == [0o700, 0o700, 0o600]


@pytest.mark.parametrize("place", ["entry", "folder"])
def test_code_that_others_may_have_written_is_not_run(
    tmp_path: Path, folder: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = save_product(tmp_path)
    start_session(path)
    (entry,) = folder.iterdir()
    changed = entry if place == "entry" else folder
    changed.chmod(0o777)
    WARNED_OF.clear()
    with caplog.at_level(logging.WARNING):
        sessions = [start_session(path) for _ in range(2)]
    # A file is replaced by a private one; a folder is not used.
    assert [is_cached(session) for session in sessions] == [False, place == "entry"]
    assert sum("others must not have permission to write" in text for text in caplog.messages) == 1
    assert str(changed) in caplog.text


def test_an_empty_folder_name_disables_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARDONYX_CACHE", "")
    path = save_product(tmp_path)
    assert not any(is_cached(start_session(path)) for _ in range(2))


def test_a_folder_that_cannot_be_created_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "file" / "folder"))
    with caplog.at_level(logging.INFO):
        assert run_product(start_session(save_product(tmp_path))).shape == (3, 2)
    assert "not cached" in caplog.text


def test_least_recently_used_entries_are_evicted(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [save_model(tmp_path / f"{i}.onnx", PRODUCT % (i, i)) for i in (1, 2, 3)]
    for path in paths[:2]:
        start_session(path)
    wait_for_record(folder.parent, 2)  # its time is that of the last use
    size = max(entry.stat().st_size for entry in folder.iterdir())
    time.sleep(0.02)
    assert is_cached(start_session(paths[0]))  # used again
    time.sleep(0.02)
    monkeypatch.setenv("SARDONYX_CACHE_BYTES", str(2 * size + size // 2))
    start_session(paths[2])
    assert [is_cached(start_session(path)) for path in (paths[0], paths[2], paths[1])] == [True, True, False]


def test_what_a_killed_writer_left_is_removed(tmp_path: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / ".sardonyx-save-0123456789abcdef.tmp").write_bytes(b"")
    start_session(save_product(tmp_path))
    assert [path.suffix for path in folder.iterdir()] == [".sdx"]


def test_a_program_that_is_too_large_is_not_cached(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARDONYX_CACHE_BYTES", "30")
    start_session(save_product(tmp_path))  # its weights and their padding take more than 15 bytes
    assert not folder.exists()


def test_the_cache_has_room_for_large_programs_where_the_disk_has(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    free = [1 << 40]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free[0]))
    assert cache_entries.max_total_bytes(folder) == 1 << 38
    free[0] = 1 << 30
    assert cache_entries.max_total_bytes(folder) == 4 << 30
    monkeypatch.setenv("SARDONYX_CACHE_BYTES", "4 GB")
    assert cache_entries.max_total_bytes(folder) == 4 << 30
    assert "SARDONYX_CACHE_BYTES must be a number of bytes" in caplog.text


def test_branches_of_equal_shapes_are_cached(tmp_path: Path, folder: Path) -> None:
    path = save_model(tmp_path / "m.onnx", BRANCHES % (2, 2, "Abs"))
    start_session(path)
    session = start_session(path)
    assert is_cached(session)
    x = np.array([1, -2], np.float32)
    for which, expected in ((True, -x), (False, abs(x)), (True, -x)):
        np.testing.assert_array_equal(session.run({"x": x, "fed": np.array([[which]])})["y"], expected)


def test_fallback_branches_are_cached(tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx", BRANCHES % ("N", "N", "Unique"))
    start_session(path)
    session = start_session(path)
    assert is_cached(session)
    for which, expected in ((True, [-2, -1]), (False, [1, 2]), (True, [-2, -1])):
        fed = {"x": np.array([2, 1], np.float32), "fed": np.array([[which]])}
        np.testing.assert_array_equal(session.run(fed)["y"], expected)


def test_weights_that_fallback_ops_read_are_bounded(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_entries, "MAX_FALLBACK_BYTES", 15)
    start_session(save_model(tmp_path / "m.onnx", LIKE_WEIGHTS))
    assert not folder.exists()
    monkeypatch.setattr(cache_entries, "MAX_FALLBACK_BYTES", 16)
    start_session(save_model(tmp_path / "m.onnx", LIKE_WEIGHTS))
    assert folder.exists()


def save_external(path: Path, first: int, second: int) -> None:
    sx.save(parse_model(PRODUCT % (first, second)), path, external=True, threshold=1)


@pytest.mark.parametrize("is_mapped", [False, True])
def test_models_with_external_data_are_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_mapped: bool
) -> None:
    if is_mapped:
        monkeypatch.setattr(contents, "COPY_UP_TO_BYTES", 0)
        monkeypatch.setattr(mapped_files, "READ_UP_TO_BYTES", 0)
    save_external(tmp_path / "m.onnx", 2, 3)
    start_session(tmp_path / "m.onnx")
    session = start_session(tmp_path / "m.onnx")
    assert is_cached(session)
    x = np.array([[1, 2]], F)
    np.testing.assert_array_equal(session.run({"x": x})["y"], [[2, 6]])


def test_other_external_data_are_another_program(tmp_path: Path, folder: Path) -> None:
    save_external(tmp_path / "m.onnx", 2, 3)
    start_session(tmp_path / "m.onnx")
    (data,) = (path for path in tmp_path.iterdir() if path.is_file() and path.name != "m.onnx")
    data.write_bytes(data.read_bytes().replace(F(3).tobytes(), F(5).tobytes()))
    session = start_session(tmp_path / "m.onnx")
    np.testing.assert_array_equal(session.run({"x": np.array([[1, 2]], F)})["y"], [[2, 10]])
    assert len(list(folder.iterdir())) == 2


def test_external_data_that_may_still_change_are_not_cached(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_external(tmp_path / "m.onnx", 2, 3)
    seconds = 10**9
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", 100 * seconds)
    start_session(tmp_path / "m.onnx")
    assert not folder.exists()


def test_missing_external_data_are_reported_with_a_cached_program_too(tmp_path: Path) -> None:
    save_external(tmp_path / "m.onnx", 2, 3)
    start_session(tmp_path / "m.onnx")
    (data,) = (path for path in tmp_path.iterdir() if path.is_file() and path.name != "m.onnx")
    data.unlink()
    with pytest.raises(sx.ExternalDataError):
        start_session(tmp_path / "m.onnx").run({"x": np.zeros((1, 2), F)})


def test_a_cached_program_bails_out_to_the_reference_engine(tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx", PICKED)
    first, second = start_session(path), start_session(path)
    fed = {"x": np.zeros(3, F), "i": np.array([7])}
    messages = []
    for session in (first, second):
        with pytest.raises(sx.EvaluationError) as caught:
            session.run(fed)
        messages.append(str(caught.value))
    assert is_cached(second) and messages[0] == messages[1]
    assert [node.op_type for node, _ in second.trace({"x": fed["x"], "i": np.array([1])})] == ["Gather"]


def test_an_initializer_is_overridden(tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx", DEFAULT)
    start_session(path)
    session = start_session(path)
    assert is_cached(session) and [port.has_default for port in session.inputs] == [False, True]
    x = np.array([1, 1], F)
    assert np.array_equal(session.run({"x": x})["y"], [2, 3])
    assert np.array_equal(session.run({"x": x, "b": x})["y"], [2, 2])


def test_random_numbers_are_those_of_the_seed(tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx", RANDOM)
    first, second = start_session(path, seed=5), start_session(path, seed=5)
    assert is_cached(second)
    for _ in range(3):
        fed = {"x": np.zeros(3, F)}
        np.testing.assert_array_equal(first.run(fed)["y"], second.run(fed)["y"])


def test_the_memory_report_of_a_cached_program_is_the_same(tmp_path: Path) -> None:
    path = save_product(tmp_path)
    first, second = start_session(path), start_session(path)
    assert is_cached(second)
    assert str(first.plan({"N": 5})) == str(second.plan({"N": 5}))


def test_sessions_of_one_entry_share_it(tmp_path: Path) -> None:
    path = save_product(tmp_path)
    start_session(path)
    first = start_session(path)
    second = sx.Session(path, engine="native", threads=2)
    assert isinstance(first._runner, CachedEngine) and isinstance(second._runner, CachedEngine)
    assert first._runner.cached_program is second._runner.cached_program
    first.close()
    assert run_product(second).shape == (3, 2)


def test_a_program_that_sessions_share_is_written_once(tmp_path: Path, folder: Path) -> None:
    path = save_product(tmp_path)
    first = start_session(path)
    (entry,) = folder.iterdir()
    before = entry.stat()
    second = sx.Session(path, engine="native", threads=1)
    assert (is_cached(first), is_cached(second)) == (False, True)
    assert entry.stat() == before


@pytest.mark.parametrize("is_long", [False, True])
def test_weights_of_the_first_session_are_pages_of_a_long_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_long: bool
) -> None:
    if is_long:
        monkeypatch.setattr(cache_entries, "READ_UP_TO_BYTES", 0)
    first = start_session(save_product(tmp_path))
    assert isinstance(first._runner, CachedEngine)
    others = first._runner.cached_program.image.extra_bases
    weights = [of.data for of in others if isinstance(of, Buffer) and of.data is not None]
    assert weights and all((mapped_file_of(data) is not None) == is_long for data in weights)


def test_a_full_disk_leaves_weights_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "no room")

    path = save_product(tmp_path)
    monkeypatch.setattr(staging, "Staging", refuse)
    with caplog.at_level(logging.INFO):
        session = start_session(path)
    assert not isinstance(session._runner, CachedEngine) and "no room" in caplog.text
    assert len(COMPILED) == 1
    assert session.stats.uncached.endswith("programs cannot be written to: no room")
    assert np.array_equal(session.run({"x": np.ones((1, 2), F)})["y"], [[2, 2]])


def test_two_processes_may_write_one_entry_at_once(tmp_path: Path) -> None:
    path = save_product(tmp_path)
    time.sleep(0.2)  # until the file is no longer racily clean
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", START, str(path)]
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    printed = [process.communicate()[0].split(" ", 1) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    third = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert third.strip() == "CachedEngine [[2.0, 0.0], [6.0, 8.0]] []"  # and nothing that compiles was loaded
    assert all(rest.startswith("[[2.0, 0.0], [6.0, 8.0]]") for _, rest in printed)

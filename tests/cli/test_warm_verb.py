"""`sardonyx warm`: the disk cache is filled, and the first session of a model finds its program."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.compile.linker import features
from sardonyx._src.io import file_stamps
from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.io.saving import staging
from sardonyx._src.runtime.engine import shared_programs
from sardonyx._src.runtime.identity import file_digests, verified_files
from sardonyx._src.runtime.identity.records import wait_for_records
from sardonyx._src.runtime.saved_programs import container, disk_cache
from sardonyx._src.runtime.saved_programs.container import read_container

pytestmark = pytest.mark.skipif(
    features.saved_program_machine() is None, reason="programs are not saved here"
)
needs_classes = pytest.mark.skipif(
    features.saved_program_machine() != "x86_64", reason="the processor is of no class"
)
F = np.float32
PRODUCT = """g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {%d, 0, 0, %d}>
    { a = MatMul(x, w)  y = Relu(a) }"""
BRANCHES = """g (float[N,4] x, bool c) => (float[] y) <int64[1] last = {-1}, float[4] w = {1, 2, 3, 4}> {
    a = Sin(x)
    b = If <then_branch = t () => (float[?] p) { p = ReduceSum <keepdims = 0>(a, last) },
            else_branch = e () => (float[?,?] q) { q = Mul(a, w) }>(c)
    d = Sigmoid(b)
    y = ReduceSum <keepdims = 0>(d) }"""
RUN = """
import sys
import numpy as np
import sardonyx as sx
session = sx.Session(sys.argv[1], engine="native", threads=1)
y = session.run({"x": np.array([[1, 2]], np.float32)})["y"]
print(session.stats.compilations, y.tolist())
"""
OTHER_USER = 65534
needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user"
)
Streams = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, for which no file is racily clean."""
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))
    return tmp_path / "cache"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder with two models, one of them in an inner folder, and another file."""
    (tmp_path / "models" / "inner").mkdir(parents=True)
    sx.save(parse_model(PRODUCT % (2, 3)), tmp_path / "models" / "a.onnx")
    sx.save(parse_model(PRODUCT % (4, 5)), tmp_path / "models" / "inner" / "b.onnx")
    (tmp_path / "models" / "config.json").write_text("{}")
    return tmp_path / "models"


def warm(capsys: Streams, *words: object, status: int = 0) -> list[dict[str, object]]:
    """What `sardonyx warm --json` prints."""
    assert main(["warm", *map(str, words), "--json"]) == status
    result: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return result


def start_session(path: Path) -> sx.Session:
    """A session as in a new process."""
    shared_programs.SHARED_PROGRAMS.clear()
    disk_cache.OPEN_PROGRAMS.clear()
    return sx.Session(path, engine="native", threads=1)


def entries(cache: Path) -> list[Path]:
    return sorted((cache / "programs").glob("*.sdx"))


def test_the_first_session_opens_the_program(models: Path, cache: Path, capsys: Streams) -> None:
    rows = warm(capsys, models)
    assert [row["path"] for row in rows] == [str(models / "a.onnx"), str(models / "inner" / "b.onnx")]
    assert all(row["compiled"] and not row["problem"] for row in rows)
    assert sum(entry.stat().st_size for entry in entries(cache)) <= sum(
        int(str(row["bytes_written"])) for row in rows
    )
    for name, factors in (("a.onnx", [2, 3]), ("inner/b.onnx", [4, 5])):
        session = start_session(models / name)
        np.testing.assert_array_equal(session.run({"x": np.ones((1, 2), F)})["y"], [factors])
        assert (session.stats.compilations, session.stats.uncached) == (0, "")


def test_the_second_time_there_is_nothing_to_do(models: Path, cache: Path, capsys: Streams) -> None:
    warm(capsys, models)
    before = {path: path.stat().st_mtime_ns for path in entries(cache)}
    start = time.process_time()
    assert main(["warm", str(models)]) == 0
    assert time.process_time() - start < 2  # a second a model
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2 and all(": nothing to do (" in line for line in printed)
    assert {path: path.stat().st_mtime_ns for path in entries(cache)} == before


def test_the_entry_is_the_one_that_a_session_writes(models: Path, cache: Path, capsys: Streams) -> None:
    warm(capsys, models)
    warmed = [entry.read_bytes() for entry in entries(cache)]
    shutil.rmtree(cache)
    for path in (models / "a.onnx", models / "inner" / "b.onnx"):
        assert start_session(path).stats.compilations == 1
    assert [entry.read_bytes() for entry in entries(cache)] == warmed


def test_models_that_cannot_be_compiled_are_findings(models: Path, capsys: Streams) -> None:
    sx.save(parse_model("g (float[2] x) => (float[2] y) { y = Nowhere(x) }"), models / "bad.onnx")
    (models / "worse.onnx").write_bytes(b"no model")
    assert main(["warm", str(models)]) == 1
    streams = capsys.readouterr()
    assert "bad.onnx: " in streams.err and "Nowhere" in streams.err and "worse.onnx: " in streams.err
    assert len(streams.out.splitlines()) == 2
    by_name = {Path(str(row["path"])).name: row["problem"] for row in warm(capsys, models, status=1)}
    assert [name for name, problem in by_name.items() if problem] == ["bad.onnx", "worse.onnx"]


@pytest.mark.parametrize("words", [["/no/such/folder"], ["m", "--target", "x86-65"], ["m", "--sizes", "N"]])
def test_wrong_arguments_are_usage_errors(
    models: Path, words: list[str], capsys: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(models.parent)
    assert main(["warm", *(word.replace("m", "models") if word == "m" else word for word in words)]) == 2
    assert "must be" in capsys.readouterr().err


def test_without_a_cache_there_is_nothing_to_fill(
    models: Path, monkeypatch: pytest.MonkeyPatch, capsys: Streams
) -> None:
    monkeypatch.setenv("SARDONYX_CACHE", "")
    assert main(["warm", str(models)]) == 2
    assert "a cache folder must be given" in capsys.readouterr().err


def test_sizes_are_run(models: Path, cache: Path, capsys: Streams) -> None:
    for path in (models / "inner" / "b.onnx", models / "a.onnx"):
        path.unlink()
    sx.save(parse_model(BRANCHES), models / "m.onnx")
    warm(capsys, models)
    assert len(entries(cache)) == 1
    (row,) = warm(capsys, models, "--sizes", "N=3", "--threads", "1")
    assert not row["problem"] and len(entries(cache)) == 2  # the program for the branch of the run
    (row,) = warm(capsys, models, "--sizes", "N=3", "--threads", "1")
    assert (row["compiled"], row["bytes_written"], row["problem"]) == (False, 0, "")


# --- other processors ----------------------------------------------------------------------------


@needs_classes
@pytest.mark.parametrize("name", ["x86-64-v2", "x86-64-v4-amx"])
def test_programs_are_compiled_for_other_classes(
    models: Path, tmp_path: Path, name: str, capsys: Streams
) -> None:
    rows = warm(capsys, models / "a.onnx", "--cache", tmp_path / "other", "--target", name)
    assert rows[0]["compiled"] and not rows[0]["problem"]
    (entry,) = entries(tmp_path / "other")
    required = set(read_container(entry).document["features"])  # type: ignore[arg-type]
    assert ("avx512f" in required, "amx_tile" in required) == (name != "x86-64-v2",) * 2


@needs_classes
def test_a_lower_class_is_found_by_its_processes(models: Path, tmp_path: Path, capsys: Streams) -> None:
    warm(capsys, models / "a.onnx", "--cache", tmp_path / "other", "--target", "x86-64-v2")
    environment = {"SARDONYX_CACHE": str(tmp_path / "other"), "SARDONYX_TARGET": "x86-64-v2"}
    process = subprocess.run(
        [sys.executable, "-c", RUN, str(models / "a.onnx")],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.strip() == "0 [[2.0, 6.0]]"


def test_a_run_on_another_class_is_refused(models: Path, capsys: Streams) -> None:
    assert main(["warm", str(models), "--target", "x86-64-v2", "--sizes", "N=1"]) == 2
    assert "sizes must be omitted" in capsys.readouterr().err


# --- states of the folder ------------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_to_is_a_finding(models: Path, capsys: Streams) -> None:
    file = models / "config.json"
    assert main(["warm", str(models), "--cache", str(file)]) == 1
    assert "config.json/programs cannot be written to: " in capsys.readouterr().err


def test_a_full_disk_is_a_finding(models: Path, capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(staging, "Staging", refuse)
    problems = [row["problem"] for row in warm(capsys, models, status=1)]
    assert all("cannot be written to: No space left on device" in str(problem) for problem in problems)


def test_files_that_may_still_change_are_a_finding(
    models: Path, capsys: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FileStamp, "is_racily_clean", True)
    monkeypatch.setattr("sardonyx._src.runtime.identity.model_stamps.MAX_HASHED_FILE", 0)
    (row,) = warm(capsys, models / "a.onnx", status=1)
    assert "were written a moment ago" in str(row["problem"])


def test_a_program_that_is_too_large_is_a_finding(
    models: Path, capsys: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARDONYX_CACHE_BYTES", "30")
    (row,) = warm(capsys, models / "a.onnx", status=1)
    assert "its weights must have at most 15 bytes (SARDONYX_CACHE_BYTES)" in str(row["problem"])


def test_two_processes_may_fill_one_cache(models: Path, cache: Path, capsys: Streams) -> None:
    command = [sys.executable, "-m", "sardonyx", "warm", str(models), "--json"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in processes:
        rows = json.loads(process.communicate()[0])
        assert process.returncode == 0 and [row["problem"] for row in rows] == ["", ""]
    assert not any(row["compiled"] for row in warm(capsys, models))
    assert not [path for path in cache.rglob("*") if path.suffix == ".tmp"]


# --- images of containers -------------------------------------------------------------------------


@pytest.fixture
def image() -> Iterator[Path]:
    """A folder that all users can read."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def unpack(models: Path, cache: Path, image: Path) -> None:
    """Copies models and a cache with their permissions, and removes them, as a layer of an image is unpacked."""
    for folder in (models, cache):
        shutil.copytree(folder, image / folder.name, copy_function=shutil.copy)
        shutil.rmtree(folder)


def start_as_another_user(image: Path, model: Path) -> list[object]:
    """What a new process of another user finds: compilations, files read in full, entries read in full, y, reason."""
    start_session(model)  # loads the modules, which other users may not be able to read
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.environ.update(SARDONYX_CACHE=str(image / "cache"), TMPDIR=str(image / "temporary"))
            os.setgroups([])
            os.setgid(OTHER_USER)
            os.setuid(OTHER_USER)
            os.write(writer, json.dumps(observe_start(model)).encode())
        finally:  # nothing of this process goes on with the tests
            traceback.print_exc()
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        result: list[object] = json.load(file)
    os.waitpid(child, 0)
    return result


def observe_start(model: Path) -> list[object]:
    """What a start reads, and the state of its session."""
    counts = {"file": 0, "entry": 0}
    hash_blocks, verify = file_digests.hash_blocks, container.Container.verify_constants

    def count_file(fd: int, size: int, threads: int) -> str | None:
        counts["file"] += 1
        return hash_blocks(fd, size, threads)

    def count_entry(self: container.Container) -> None:
        counts["entry"] += 1
        verify(self)

    file_digests.DIGESTS.clear()
    verified_files.VERIFIED.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_digests, "hash_blocks", count_file)
        patch.setattr(container.Container, "verify_constants", count_entry)
        session = start_session(model)
        y = session.run({"x": np.array([[1, 2]], F)})["y"]
        assert isinstance(y, np.ndarray)
        wait_for_records()  # the next process would otherwise read the entry again
        return [session.stats.compilations, *counts.values(), y.tolist(), session.stats.uncached]


@needs_root
def test_another_user_of_a_read_only_image_opens_the_program(
    models: Path, cache: Path, image: Path, monkeypatch: pytest.MonkeyPatch, capsys: Streams
) -> None:
    monkeypatch.setattr("sardonyx._src.runtime.identity.model_stamps.MAX_HASHED_FILE", 0)
    (models / "a.onnx").chmod(0o644)
    warm(capsys, models / "a.onnx")
    unpack(models, cache, image)
    (image / "temporary").mkdir()
    (image / "temporary").chmod(0o777)
    # The first process reads the model and records that where it can write; the second one does not.
    starts = [start_as_another_user(image, image / "models" / "a.onnx") for _ in range(2)]
    assert starts == [[0, 1, 1, [[2, 6]], ""], [0, 0, 0, [[2, 6]], ""]]
    assert [path.name for path in (image / "temporary").iterdir()] == [f"sardonyx-{OTHER_USER}"]


@needs_root
def test_a_session_says_why_its_program_is_not_cached(
    models: Path, cache: Path, image: Path, capsys: Streams
) -> None:
    warm(capsys, models / "a.onnx")
    unpack(models, cache, image)
    (image / "models").chmod(0o755)
    (image / "models" / "inner").chmod(0o755)
    (image / "models" / "inner" / "b.onnx").chmod(0o644)
    *numbers, reason = start_as_another_user(image, image / "models" / "inner" / "b.onnx")
    assert numbers == [1, 0, 0, [[4, 10]]]
    assert reason == f"{image}/cache/programs cannot be written to: Permission denied"


def test_a_model_that_others_may_not_read_has_no_entry_for_them(
    models: Path, cache: Path, capsys: Streams
) -> None:
    (models / "a.onnx").chmod(0o600)
    (models / "inner" / "b.onnx").chmod(0o640)
    warm(capsys, models / "a.onnx")
    (first,) = entries(cache)
    assert first.stat().st_mode & 0o777 == 0o600
    warm(capsys, models / "inner" / "b.onnx")
    (second,) = (path for path in entries(cache) if path != first)
    assert second.stat().st_mode & 0o777 == (0o640 if os.geteuid() == 0 else 0o600)


@pytest.mark.parametrize("stamped_bytes", [0, 1 << 20])  # files are known by their stamps, or by their bytes
def test_external_data_that_others_may_not_read_is_in_no_entry_of_theirs(
    stamped_bytes: int, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: Streams
) -> None:
    monkeypatch.setattr("sardonyx._src.runtime.identity.model_stamps.MAX_HASHED_FILE", stamped_bytes)
    path = tmp_path / "m.onnx"
    sx.save(parse_model(PRODUCT % (2, 3)), path, external="data", threshold=1)
    path.chmod(0o644)
    (tmp_path / "data").chmod(0o600)
    warm(capsys, path)
    assert [entry.stat().st_mode & 0o777 for entry in entries(cache)] == [0o600]

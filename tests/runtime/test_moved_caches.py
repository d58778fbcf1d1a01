"""Caches that move: the programs of files that were copied or unpacked elsewhere are found by the content of the files."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.linker import features
from sardonyx._src.io import file_stamps
from sardonyx._src.runtime.engine import shared_programs
from sardonyx._src.runtime.identity import file_digests, model_stamps, verified_files
from sardonyx._src.runtime.identity.records import wait_for_records
from sardonyx._src.runtime.saved_programs import disk_cache, entry_aliases

pytestmark = pytest.mark.skipif(
    features.saved_program_machine() is None, reason="programs are not saved here"
)
F = np.float32
PRODUCT = """g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {%d, 0, 0, %d}>
    { a = MatMul(x, w)  y = Relu(a) }"""
X = np.array([[1, 2]], F)
SECONDS = 30.0


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache folder; every file is long, and none is racily clean."""
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))
    monkeypatch.setattr(model_stamps, "MAX_HASHED_FILE", 0)
    yield tmp_path / "cache"
    wait_for_records()


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the files that were read from the beginning to the end, in order."""
    sizes: list[int] = []
    hash_blocks = file_digests.hash_blocks

    def record(fd: int, size: int, threads: int) -> str | None:
        sizes.append(size)
        return hash_blocks(fd, size, threads)

    monkeypatch.setattr(file_digests, "hash_blocks", record)
    return sizes


def save_product(path: Path, *factors: int, external: bool = False) -> Path:
    path.parent.mkdir(exist_ok=True)
    model = parse_model(PRODUCT % factors)
    sx.save(model, path, external="data", threshold=1) if external else sx.save(model, path)
    return path


def start_session(path: Path) -> sx.Session:
    """A session as in a new process."""
    for known in (shared_programs.SHARED_PROGRAMS, disk_cache.OPEN_PROGRAMS, file_digests.DIGESTS):
        known.clear()
    verified_files.VERIFIED.clear()
    return sx.Session(path, engine="native", threads=1)


def compilations(path: Path, *factors: int) -> int:
    """The number of compilations of a session whose results are right."""
    session = start_session(path)
    np.testing.assert_array_equal(session.run({"x": X})["y"], X * np.array(factors, F))
    return session.stats.compilations


def wait_for_aliases(cache: Path, count: int = 2) -> None:
    """Waits until a thread has written the aliases of an entry: by its content, and by its stamp."""
    end = time.monotonic() + SECONDS
    while len(aliases(cache)) < count and time.monotonic() < end:
        time.sleep(0.01)
    assert len(aliases(cache)) == count


def aliases(cache: Path) -> list[Path]:
    return sorted(path for path in (cache / "aliases").glob("*") if path.suffix != ".tmp")


def move(folder: Path, target: Path) -> Path:
    """Copies a folder without its times, as an image of a container is unpacked, and removes it."""
    shutil.copytree(folder, target, copy_function=shutil.copyfile)
    for path in (target, *target.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    shutil.rmtree(folder)
    return target


@pytest.mark.parametrize("is_external", [False, True])
def test_a_moved_cache_has_the_program_of_a_moved_model(
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    hashed: list[int],
    *,
    is_external: bool,
) -> None:
    model = save_product(tmp_path / "models" / "m.onnx", 2, 3, external=is_external)
    assert compilations(model, 2, 3) == 1
    wait_for_aliases(cache)
    files = len([*model.parent.iterdir()])
    moved = move(model.parent, tmp_path / "elsewhere") / model.name
    monkeypatch.setenv("SARDONYX_CACHE", str(move(cache, tmp_path / "other")))
    hashed.clear()
    assert compilations(moved, 2, 3) == 0
    assert len(hashed) == files
    assert compilations(moved, 2, 3) == 0
    assert len(hashed) == files  # its stamp is known now


def test_the_first_start_reads_no_file_for_its_name(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, hashed: list[int]
) -> None:
    monkeypatch.setattr(entry_aliases, "write_aliases_later", lambda *_: None)
    model = save_product(tmp_path / "m.onnx", 2, 3)
    assert [compilations(model, 2, 3) for _ in range(2)] == [1, 0]
    assert hashed == []


def test_files_with_another_sample_are_not_read(tmp_path: Path, cache: Path, hashed: list[int]) -> None:
    assert compilations(save_product(tmp_path / "a.onnx", 2, 3), 2, 3) == 1
    wait_for_aliases(cache)
    hashed.clear()
    assert start_session(save_product(tmp_path / "b.onnx", 2, 4)).stats.compilations == 1
    assert hashed[:-1] == []  # the last one is read after the session is open


@pytest.mark.parametrize("is_external", [False, True])
@pytest.mark.parametrize("has_stamp_alias", [False, True])
def test_a_changed_file_of_equal_size_time_and_sample_is_another_model(
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_external: bool,
    has_stamp_alias: bool,
) -> None:
    monkeypatch.setattr(entry_aliases, "file_sample", lambda stamp: "a" * 64)
    model = save_product(tmp_path / "m" / "m.onnx", 2, 3, external=is_external)
    assert compilations(model, 2, 3) == 1
    wait_for_aliases(cache)
    if has_stamp_alias:
        model = move(model.parent, tmp_path / "moved") / model.name
        assert compilations(model, 2, 3) == 0
    data = model.with_name("data") if is_external else model
    content, status = data.read_bytes(), data.stat()
    changed = content.replace(F(3).tobytes(), F(5).tobytes())
    assert changed != content and len(changed) == len(content)
    data.write_bytes(changed)
    os.utime(data, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert data.stat().st_mtime_ns == status.st_mtime_ns
    assert compilations(model, 2, 5) == 1


def test_swapped_data_are_another_model(tmp_path: Path, cache: Path) -> None:
    shards = parse_model(
        "g (float[2] x) => (float[2] y) <float[2] v = {1, 2}, float[2] w = {3, 4}> { a = Mul(x, v)  y = Sub(a, w) }"
    )
    sx.save(shards, tmp_path / "m.onnx", external="s", shard_size=1, threshold=1)
    x = {"x": np.array([1, 1], F)}
    np.testing.assert_array_equal(start_session(tmp_path / "m.onnx").run(x)["y"], [-2, -2])
    wait_for_aliases(cache)
    first, second = sorted(tmp_path.glob("s-*"))
    first.rename(tmp_path / "third")
    second.rename(first)
    (tmp_path / "third").rename(second)
    session = start_session(tmp_path / "m.onnx")
    np.testing.assert_array_equal(session.run(x)["y"], [2, 2])


def test_a_renamed_alias_is_not_used(tmp_path: Path, cache: Path) -> None:
    model = save_product(tmp_path / "a.onnx", 2, 3)
    assert compilations(model, 2, 3) == 1
    wait_for_aliases(cache)
    other = save_product(tmp_path / "b.onnx", 2, 4)
    assert compilations(other, 2, 4) == 1
    wait_for_aliases(cache, 4)
    by_content = [path for path in aliases(cache) if "-" in path.name]
    shutil.copyfile(*by_content)
    for path in (model, other):
        path.touch()  # another stamp
    assert sorted([compilations(model, 2, 3), compilations(other, 2, 4)]) == [0, 1]


def test_files_that_may_still_change_have_no_aliases(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save_product(tmp_path / "m.onnx", 2, 3)
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", 1 << 62)
    stamp = model_stamps.stamp_source(path)
    assert isinstance(stamp, file_stamps.FileStamp)
    assert file_digests.file_sample(stamp) is None and file_digests.file_digest(stamp) is None


@pytest.mark.parametrize("size", [0, 1, 4095, 70_000, (1 << 16) * 3])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_digest_covers_every_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, threads: int
) -> None:
    monkeypatch.setattr(file_digests, "BLOCK_BYTES", 1 << 16)
    path = tmp_path / "file"
    content = bytearray(np.random.default_rng(size).bytes(size))

    def digest() -> str | None:
        path.write_bytes(content)
        return file_digests.file_digest(file_stamps.FileStamp.from_path(str(path)), threads)

    digests = {digest()}
    for place in {0, size // 2, size - 1} if size else ():
        content[place] ^= 1
        digests.add(digest())
        content[place] ^= 1
    assert None not in digests and len(digests) == 1 + len({0, size // 2, size - 1} if size else ())
    assert digest() in digests


def test_a_digest_does_not_depend_on_the_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_digests, "BLOCK_BYTES", 1 << 12)
    path = tmp_path / "file"
    path.write_bytes(np.random.default_rng(5).bytes(50_000))
    stamp, digests = file_stamps.FileStamp.from_path(str(path)), set()
    for threads in (1, 2, 5, 40):
        file_digests.DIGESTS.clear()
        digests.add(file_digests.file_digest(stamp, threads))
    assert len(digests) == 1

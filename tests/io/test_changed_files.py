"""Files that are shortened, overwritten or replaced while they are mapped: no process ends, and no other data are used."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.linker import features
from sardonyx._src.io import file_stamps, mapped_files
from sardonyx._src.ir import Array, Model, Tensor
from sardonyx._src.runtime.engine import shared_programs
from sardonyx._src.runtime.saved_programs import cache_entries, disk_cache
from sardonyx._src.runtime.saved_programs.writing import save_compiled

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
HAS_PROGRAMS = features.saved_program_machine() is not None

COUNT = 100_000  # weights: 400 KB, many pages
WEIGHTS = np.random.default_rng(8).standard_normal(COUNT).astype(np.float32)
X = np.full(COUNT, 2, np.float32)


def model() -> Model:
    # Constants of an Add are not packed: the native engine reads those of the model.
    result = parse_model(
        f"g (float[{COUNT}] x) => (float[{COUNT}] y) <float[1] w = {{1}}> {{ y = Add(x, w) }}"
    )
    result.graph.initializers["w"].initializer = Tensor.of(WEIGHTS, name="w")
    return result


def weights_of(loaded: Model) -> Array:
    tensor = loaded.graph.initializers["w"].initializer
    assert isinstance(tensor, Tensor)
    return tensor.numpy()


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model inline, external and compiled, and an empty cache."""
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))
    shared_programs.SHARED_PROGRAMS.clear()
    disk_cache.OPEN_PROGRAMS.clear()
    sx.save(model(), tmp_path / "inline.onnx")
    sx.save(model(), tmp_path / "external.onnx", external="data")
    if HAS_PROGRAMS:
        save_compiled(model(), tmp_path / "m.sdx")


def assert_survives(function: Callable[[], None]) -> None:
    """Asserts that a function returns in a child of this process, which no signal ends."""
    child = os.fork()
    if not child:
        status = 1
        try:
            function()
            status = 0
        finally:  # also after an interrupt: the child must not go on with the tests
            traceback.print_exc()
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    assert not os.WIFSIGNALED(status), f"signal {os.WTERMSIG(status)} ended the process"
    assert os.WEXITSTATUS(status) == 0


def shorten(path: Path) -> None:
    os.truncate(path, 5000)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(bytes(40_000))


def replace(path: Path) -> None:
    path.with_name("new").write_bytes(b"new")
    os.replace(path.with_name("new"), path)


def session(path: Path, engine: str) -> Callable[[], Array]:
    """What runs a session that is open."""
    opened = sx.Session(path, engine=engine, threads=1)  # type: ignore[arg-type]

    def run() -> Array:
        result = opened.run({"x": X})["y"]
        assert isinstance(result, np.ndarray)
        return result - X

    run()
    return run


def uncached_session(path: Path) -> Callable[[], Array]:
    """`session` of a program that reads the model's files: one in the cache has weights of its own."""
    os.environ["SARDONYX_CACHE"] = ""  # of the child process
    return session(path, "native")


def tensor(path: Path, **options: bool) -> Callable[[], Array]:
    loaded = sx.load(path, **options)  # type: ignore[arg-type]
    return lambda: weights_of(loaded).copy()


def saved(path: Path) -> Callable[[], Array]:
    loaded = sx.load(path)

    def save_and_load() -> Array:
        sx.save(loaded, path.with_name("saved.onnx"), external=False)
        return weights_of(sx.load(path.with_name("saved.onnx"))).copy()

    return save_and_load


def converted(path: Path) -> Callable[[], Array]:
    loaded = sx.load(path)
    return lambda: weights_of(sx.convert(loaded, 20)).copy()


def digested(path: Path) -> Callable[[], Array]:
    loaded = sx.load(path)

    def run() -> Array:
        result = sx.Session(loaded, engine="native", threads=1).run({"x": X})["y"]
        assert isinstance(result, np.ndarray)
        return result - X

    return run


# Each opens files, and returns what uses them later; the file that is changed in between.
USES: dict[str, tuple[Callable[[Path], Callable[[], Array]], str]] = {
    "tensor": (lambda folder: tensor(folder / "inline.onnx"), "inline.onnx"),
    "external tensor": (lambda folder: tensor(folder / "external.onnx"), "data"),
    "save": (lambda folder: saved(folder / "inline.onnx"), "inline.onnx"),
    "save external": (lambda folder: saved(folder / "external.onnx"), "data"),
    "convert": (lambda folder: converted(folder / "inline.onnx"), "inline.onnx"),
    "session of a model": (lambda folder: digested(folder / "inline.onnx"), "inline.onnx"),
    "reference": (lambda folder: session(folder / "inline.onnx", "reference"), "inline.onnx"),
    "reference, external": (lambda folder: session(folder / "external.onnx", "reference"), "data"),
    "native, external": (lambda folder: uncached_session(folder / "external.onnx"), "data"),
}
if HAS_PROGRAMS:
    USES["saved program"] = (lambda folder: session(folder / "m.sdx", "native"), "m.sdx")
LAZY = ("external tensor", "save external")  # which open the file at the first use


def assert_weights(actual: Array) -> None:
    np.testing.assert_allclose(actual, WEIGHTS, atol=1e-6)


@pytest.mark.parametrize("change", [shorten, overwrite, replace])
@pytest.mark.parametrize("use", [name for name in USES if name not in LAZY])
def test_short_files_may_change(tmp_path: Path, use: str, change: Callable[[Path], None]) -> None:
    def open_change_use() -> None:
        prepare, name = USES[use]
        opened = prepare(tmp_path)
        change(tmp_path / name)
        for _ in range(2):
            assert_weights(opened())

    assert_survives(open_change_use)


@pytest.mark.usefixtures("long_files")
@pytest.mark.parametrize("change", [shorten, overwrite])
@pytest.mark.parametrize("use", USES)
def test_a_changed_long_file_is_an_error(tmp_path: Path, use: str, change: Callable[[Path], None]) -> None:
    def open_change_use() -> None:
        prepare, name = USES[use]
        opened = prepare(tmp_path)
        if use in LAZY:
            opened()
        change(tmp_path / name)
        for _ in range(2):
            with pytest.raises(
                sx.FileChanged, match="shortened from" if change is shorten else "overwritten"
            ):
                opened()

    assert_survives(open_change_use)


@pytest.mark.skipif(not HAS_PROGRAMS, reason="programs are not saved here")
@pytest.mark.usefixtures("long_files")
@pytest.mark.parametrize("change", [shorten, overwrite, replace])
def test_a_cached_program_notices_changes_of_the_external_data_that_it_reads(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    def open_change_use() -> None:
        opened = session(tmp_path / "external.onnx", "native")
        change(tmp_path / "data")
        if change is replace:
            assert_weights(opened())
        else:
            with pytest.raises(
                sx.FileChanged, match="shortened from" if change is shorten else "overwritten"
            ):
                opened()

    assert_survives(open_change_use)


@pytest.mark.usefixtures("long_files")
@pytest.mark.parametrize("use", [name for name in USES if name not in LAZY])
def test_a_long_file_may_be_replaced(tmp_path: Path, use: str) -> None:
    def open_change_use() -> None:
        prepare, name = USES[use]
        opened = prepare(tmp_path)
        replace(tmp_path / name)
        for _ in range(2):
            assert_weights(opened())

    assert_survives(open_change_use)


@pytest.mark.usefixtures("long_files")
def test_a_long_file_is_shortened_under_another_name(tmp_path: Path) -> None:
    def open_change_use() -> None:
        opened = session(tmp_path / "inline.onnx", "reference")
        (tmp_path / "inline.onnx").rename(tmp_path / "other")
        assert_weights(opened())
        shorten(tmp_path / "other")
        with pytest.raises(sx.FileChanged, match="shortened"):
            opened()

    assert_survives(open_change_use)


@pytest.mark.usefixtures("long_files")
@pytest.mark.parametrize("name", ["inline.onnx", "external.onnx"])
def test_copied_files_may_change(tmp_path: Path, name: str) -> None:
    def open_change_use() -> None:
        opened = tensor(tmp_path / name, copy=True)
        if name == "external.onnx":
            array = opened()
            shorten(tmp_path / "data")
            assert_weights(array)
        shorten(tmp_path / name)
        assert_weights(opened())

    assert_survives(open_change_use)


@pytest.mark.usefixtures("long_files")
def test_no_more_than_a_total_of_external_data_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (Tensor.of(np.full(COUNT, i, np.float32), name=f"w{i}") for i in (1, 2))
    shards = parse_model(
        "g (float[1] x) => (float[1] y) <float[1] w1 = {1}, float[1] w2 = {1}> { y = Add(x, w1) }"
    )
    shards.graph.initializers["w1"].initializer, shards.graph.initializers["w2"].initializer = first, second
    sx.save(shards, tmp_path / "shards.onnx", external="s", shard_size=1)
    monkeypatch.setattr(mapped_files, "READ_UP_TO_BYTES", 4 * COUNT + 1000)
    loaded = sx.load(tmp_path / "shards.onnx")
    read, mapped = (loaded.graph.initializers[name].initializer for name in ("w1", "w2"))
    assert isinstance(read, Tensor) and isinstance(mapped, Tensor)
    assert (read.numpy()[0], mapped.numpy()[0]) == (1, 2)
    for i in (1, 2):
        shorten(tmp_path / f"s-0000{i}-of-00002")
    assert read.numpy()[-1] == 1
    with pytest.raises(sx.FileChanged):
        mapped.numpy()


# --- the cache -------------------------------------------------------------------------------

needs_programs = pytest.mark.skipif(not HAS_PROGRAMS, reason="the machine has no saved programs")


@needs_programs
@pytest.mark.parametrize("change", [shorten, overwrite])
def test_a_changed_entry_of_the_cache_is_an_error(
    tmp_path: Path, change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_entries, "READ_UP_TO_BYTES", 0)

    def open_change_use() -> None:
        opened = session(tmp_path / "inline.onnx", "native")
        (entry,) = (tmp_path / "cache" / "programs").iterdir()
        change(entry)
        for _ in range(2):
            with pytest.raises(sx.FileChanged, match=entry.name):
                opened()
        disk_cache.OPEN_PROGRAMS.clear()
        assert_weights(session(tmp_path / "inline.onnx", "native")())

    assert_survives(open_change_use)


@needs_programs
def test_other_sessions_of_an_entry_leave_it_unchanged(tmp_path: Path) -> None:
    opened = session(tmp_path / "inline.onnx", "native")
    for _ in range(2):
        disk_cache.OPEN_PROGRAMS.clear()
        session(tmp_path / "inline.onnx", "native")
        assert_weights(opened())


@needs_programs
def test_a_cached_program_needs_its_model_only_for_the_reference_engine(tmp_path: Path) -> None:
    def open_change_use() -> None:
        sx.Session(tmp_path / "inline.onnx", engine="native", threads=1)
        shared_programs.SHARED_PROGRAMS.clear()
        disk_cache.OPEN_PROGRAMS.clear()
        opened = sx.Session(tmp_path / "inline.onnx", engine="native", threads=1)
        shorten(tmp_path / "inline.onnx")
        result = opened.run({"x": X})["y"]
        assert isinstance(result, np.ndarray)
        assert_weights(result - X)
        with pytest.raises(sx.FileChanged, match="shortened"):
            opened.trace({"x": X})

    assert_survives(open_change_use)

"""The library of kernels that a machine compiles for itself: in the background, once, and not for tests."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.compile.llvm import jit, kernel_library, loaded_kernels
from sardonyx._src.compile.llvm.jit import compile_module, host_target
from sardonyx._src.compile.llvm.kernel_library import cached_path, class_library
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.runtime.kernel_library import background, building
from sardonyx._src.runtime.kernel_library.background import OPTION, request_library
from sardonyx._src.runtime.kernel_library.building import build_cached_library
from sardonyx._src.runtime.kernel_library.machine_files import marker_of
from sardonyx._src.runtime.kernel_library.variants import variant_models

pytestmark = pytest.mark.skipif(
    saved_program_machine() is None or not host_target().class_name, reason="the processor is of no class"
)
TEXT = '<ir_version: 10, opset_import: ["": 21]> g (float[N, 8] x) => (float[N, 8] y) { z = Exp(x)  y = Softmax(z) }'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The cache folder of this process, of which the installation has no library."""
    monkeypatch.setattr(kernel_library, "FOLDER", tmp_path / "installed")
    monkeypatch.setattr(kernel_library, "default_folder", lambda: tmp_path / "cache")
    class_library.cache_clear()
    yield tmp_path / "cache"
    class_library.cache_clear()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The markers of processes that were to be started."""
    markers: list[Path] = []

    def start(marker: Path) -> bool:
        markers.append(marker)
        return True

    monkeypatch.setattr(background, "start_builder", start)
    return markers


def path_here() -> Path:
    path = cached_path(host_target().class_name)
    assert path is not None
    return path


def test_a_session_uses_the_library_of_the_machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results have the bits of kernels that the session compiles."""
    model, x = sx.from_text(TEXT), np.random.default_rng(0).standard_normal((5, 8), np.float32)
    expected = sx.Session(model, engine="native").run({"x": x})["y"]
    assert build_cached_library(host_target(), [model]) == path_here()
    class_library.cache_clear()
    monkeypatch.setattr(loaded_kernels, "LOADED", {})
    library = class_library(host_target().class_name)
    assert library is not None
    monkeypatch.setattr(jit, "library_for", lambda module, _: library)
    monkeypatch.setattr(loaded_kernels, "default_cache", lambda: None)
    compiled: list[str] = []

    def record(text: str, target: Target, *, quick: bool = False) -> bytes:
        compiled.append(text)
        return compile_module(text, target, quick=quick)

    monkeypatch.setattr(jit, "compile_module", record)
    assert sx.Session(sx.from_text(TEXT), engine="native").run({"x": x})["y"].tobytes() == expected.tobytes()
    assert loaded_kernels.LOADED, "the second session loads kernels"
    assert not [text for text in compiled if "@sx_" in text], "kernels are those of the library"


def test_the_library_is_a_file_of_the_user_alone(folder: Path) -> None:
    path = build_cached_library(host_target(), [])
    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o600
    assert class_library(host_target().class_name) is not None
    path.chmod(0o622)
    class_library.cache_clear()
    assert class_library(host_target().class_name) is None, "others may have written to it"


def test_libraries_of_other_sources_are_removed_once_they_are_old(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    name, now = host_target().class_name, time.time()
    old, new, other = (
        folder / f"{stem}.kernels"
        for stem in (f"{name}-{'0' * 16}", f"{name}-{'1' * 16}", f"{name}-x-{'0' * 16}")
    )
    for path in (old, new, other):
        path.write_bytes(b"")
        os.utime(path, (now, now - 40 * 86400 if path != new else now))
    build_cached_library(host_target(), [])
    assert (old.exists(), new.exists(), other.exists()) == (False, True, True)


def test_one_process_compiles_it(folder: Path, started: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPTION, "build")
    assert request_library()
    assert not request_library(), "a process compiles it"
    (marker,) = started
    os.utime(marker, (0, 0))
    assert request_library(), "the process of an old marker has died"


def test_sources_that_change_cause_one_library_a_day(
    folder: Path, started: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OPTION, "build")
    folder.mkdir(mode=0o700)
    other = folder / f"{host_target().class_name}-{'0' * 16}.kernels"
    other.write_bytes(b"")
    assert not request_library()
    os.utime(other, (0, time.time() - 90000))
    assert request_library()
    assert len(started) == 1


def test_a_library_that_exists_is_not_compiled_again(
    folder: Path, started: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    build_cached_library(host_target(), [])
    monkeypatch.setenv(OPTION, "build")
    assert not request_library()
    assert started == []


def test_the_process_is_started_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a session of its own, without a further process; a failure leaves no marker."""
    marker, calls = marker_of(host_target().class_name), []
    assert marker is not None
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: calls.append((command, options)))
    assert background.start_builder(marker)
    ((command, options),) = calls
    assert command == [sys.executable, "-m", background.BUILDER]
    assert options["start_new_session"]
    assert options["env"][OPTION] == "off"

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no process")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert background.create_marker(marker)
    assert not background.start_builder(marker)
    assert not marker.exists()


def test_users_get_a_library_in_their_cache_folder_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in background.REASONS_AGAINST:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv(OPTION, raising=False)
    monkeypatch.delitem(sys.modules, "pytest")
    assert background.is_allowed()
    for name in background.REASONS_AGAINST:
        with monkeypatch.context() as context:
            context.setenv(name, "/tmp/folder")
            assert not background.is_allowed(), name
            context.setenv(OPTION, "build")
            assert background.is_allowed(), name


@pytest.mark.parametrize("choice", ["", "off"])
def test_tests_compile_none(
    folder: Path, started: list[Path], monkeypatch: pytest.MonkeyPatch, choice: str
) -> None:
    monkeypatch.setenv(OPTION, choice)
    assert not request_library()
    assert (started, folder.exists()) == ([], False)


def test_a_session_requests_the_library(
    folder: Path, started: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    sx.Session(sx.from_text(TEXT), engine="reference")
    monkeypatch.setenv(OPTION, "build")
    sx.Session(sx.from_text(TEXT), engine="reference")
    assert started == []
    sx.Session(sx.from_text(TEXT), engine="native")
    assert len(started) == 1


def test_another_choice_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPTION, "of")
    with pytest.raises(sx.InputError, match="SARDONYX_KERNEL_LIBRARY must be one of off, build; got 'of'"):
        sx.Session(sx.from_text(TEXT), engine="native")


def test_no_library_is_compiled_with_little_memory(
    folder: Path, started: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OPTION, "build")
    monkeypatch.setattr(background, "usable_memory", lambda: 512 << 20)
    assert not request_library()
    assert started == []


def test_the_process_leaves_a_library_and_no_marker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "variant_models", lambda: [("one", sx.from_text(TEXT))])
    monkeypatch.setattr(building, "limit_resources", lambda: None)
    monkeypatch.setattr(logging, "disable", lambda _: None)
    marker = marker_of(host_target().class_name)
    assert marker is not None
    assert background.create_marker(marker)
    building.main()
    assert [path.name for path in folder.iterdir()] == [path_here().name]


def test_variants_are_models_that_the_engine_compiles_whole() -> None:
    """A variant that falls back adds no kernel; the first model of each family has none that does."""
    families: dict[str, sx.Model] = {}
    for name, model in variant_models():
        families.setdefault(name.rpartition(" ")[0], model)
    for model in families.values():
        executable = compile_model(model, host_target())
        assert not [a for a in executable.program.actions if type(a).__name__ == "FallbackOp"]
    assert len(families) == 6


@pytest.mark.skipif(sys.platform != "linux", reason="a policy of Linux")
def test_the_process_gives_way_to_every_thread_that_wakes_up() -> None:
    code = (
        "import os; from sardonyx._src.runtime.kernel_library.building import limit_resources; limit_resources(); "
        "print(os.nice(0), os.sched_getscheduler(0) == os.SCHED_IDLE)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["19", "True"]

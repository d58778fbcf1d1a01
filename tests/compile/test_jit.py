"""Just-in-time compilation, loading and the disk cache of kernels."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import platformdirs
import pytest

from sardonyx._src.compile.llvm.cache import ObjectCache, default_folder
from sardonyx._src.compile.llvm.jit import Library, Module, compile_module, host_target, load

TWICE = """define void @twice(ptr noalias %x, ptr noalias %y, i64 %n) {
entry:
 br label %loop
loop:
 %i = phi i64 [0, %entry], [%next, %loop]
 %from = getelementptr float, ptr %x, i64 %i
 %to = getelementptr float, ptr %y, i64 %i
 %value = load float, ptr %from, align 4
 %double = fadd float %value, %value
 store float %double, ptr %to, align 4
 %next = add i64 %i, 1
 %more = icmp ult i64 %next, %n
 br i1 %more, label %loop, label %done
done:
 ret void
}"""
KEY = Module.of_text(TWICE).cache_key


def twice(library: Library) -> list[float]:
    call = library.function("twice", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    x, y = np.array([1, 2, 3], np.float32), np.zeros(3, np.float32)
    call(x.ctypes.data, y.ctypes.data, 3)
    return [float(v) for v in y]


def test_a_kernel_is_compiled_and_called() -> None:
    assert twice(load(TWICE, ["twice"])) == [2, 4, 6]


def test_text_that_llvm_rejects_raises_an_assertion_error() -> None:
    with pytest.raises(AssertionError, match="LLVM refuses a kernel"):
        compile_module("define void @f() { ret i32 1 }", host_target())


def test_a_kernel_is_cached_on_disk(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    assert cache.get(host_target().key, KEY) is None
    load(TWICE, ["twice"], cache)
    code = cache.get(host_target().key, KEY)
    assert code is not None
    assert twice(Library(code, ["twice"])) == [2, 4, 6]
    assert cache.get("another processor", KEY) is None
    assert cache.get(host_target().key, KEY + "\n") is None


@pytest.mark.parametrize("damage", [b"", b"short", bytes(200)])
def test_a_damaged_entry_is_compiled_again(tmp_path: Path, damage: bytes) -> None:
    cache = ObjectCache(tmp_path)
    load(TWICE, ["twice"], cache)
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage)
    assert cache.get(host_target().key, KEY) is None
    assert twice(load(TWICE, ["twice"], cache)) == [2, 4, 6]
    assert cache.get(host_target().key, KEY) is not None


def test_a_copied_entry_is_not_that_of_another_kernel(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    cache.put("t", "one", b"code of one")
    cache.put("t", "two", b"code of two")
    cache.path("t", "two").write_bytes(cache.path("t", "one").read_bytes())
    assert (cache.get("t", "one"), cache.get("t", "two")) == (b"code of one", None)


@pytest.mark.parametrize("place", ["entry", "folder"])
def test_kernels_that_others_may_have_written_are_not_run(
    tmp_path: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    cache = ObjectCache(tmp_path / "kernels")
    cache.put("t", "one", b"code")
    changed = cache.path("t", "one") if place == "entry" else cache.folder
    changed.chmod(0o722)
    assert [cache.get("t", "one") for _ in range(2)] == [None, None]
    assert caplog.text.count("others must not have permission to write") == 1
    cache.put("t", "one", b"code")
    assert cache.get("t", "one") == (b"code" if place == "entry" else None)


def test_a_full_disk_is_not_filled_by_parts_of_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    cache = ObjectCache(tmp_path / "cache")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        cache.put("target", "source", b"code")
    assert cache.get("target", "source") is None and not list(cache.folder.iterdir())
    cache.put("target", "source", b"code")
    assert cache.get("target", "source") == b"code"


def test_temporary_files_of_writers_that_died_are_removed(tmp_path: Path) -> None:
    old, new = tmp_path / "0.tmp", tmp_path / "1.tmp"
    for path in (old, new):
        path.write_bytes(b"")
    os.utime(old, (0, 0))
    ObjectCache(tmp_path).put("t", "one", b"code")
    assert (old.exists(), new.exists()) == (False, True)


def test_the_oldest_entries_beyond_the_cap_are_evicted(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, cap=250)
    for i, name in enumerate(("first", "second", "third")):
        cache.put("t", name, bytes(100))

        if cache.path("t", name).exists():
            os.utime(cache.path("t", name), (i, i))
    assert cache.get("t", "first") is None
    assert cache.get("t", "third") == bytes(100)


def test_the_cache_is_not_trimmed_with_every_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trims = []
    monkeypatch.setattr(ObjectCache, "trim", lambda self: trims.append(self.folder))
    cache = ObjectCache(tmp_path, cap=10_000)
    for name in "abcdefgh":
        cache.put("t", name, bytes(100))
    assert len(trims) == 2  # with the first entry, and after a sixteenth of the cap has been written


def test_an_unwritable_folder_caches_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert twice(load(TWICE, ["twice"], ObjectCache(tmp_path / "file"))) == [2, 4, 6]


def test_the_folder_is_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SARDONYX_CACHE", raising=False)
    for base in (str(tmp_path), "", None):
        if base is None:
            monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        else:
            monkeypatch.setenv("XDG_CACHE_HOME", base)
        expected = platformdirs.user_cache_path("sardonyx", appauthor=False, opinion=False)
        assert default_folder() == expected


def test_the_environment_variable_sets_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARDONYX_CACHE", "/somewhere")
    assert default_folder() == Path("/somewhere")
    monkeypatch.setenv("SARDONYX_CACHE", "")
    assert default_folder() is None


FORK_WHILE_COMPILING = """
import os, signal, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what is tested
from compile.test_jit import TWICE, twice
from sardonyx._src.compile.llvm.jit import compile_module, host_target, load
from sardonyx._src.compile.llvm.jit import Library
is_done = False
def compile_repeatedly():
    while not is_done:
        Library(compile_module(TWICE, host_target()), ["twice"])
thread = threading.Thread(target=compile_repeatedly)
thread.start()
for _ in range(8):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(twice(load(TWICE, ["twice"])) != [2, 4, 6])
    if os.waitpid(child, 0)[1]:
        is_done = True
        sys.exit("a forked process hangs or computes wrong results")
is_done = True
thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_process_forked_while_another_thread_compiles_can_compile() -> None:
    path = str(Path(__file__).parents[1])
    process = subprocess.run(
        [sys.executable, "-c", FORK_WHILE_COMPILING],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert process.returncode == 0, process.stderr


HEAP = """
import ctypes, gc, sys
from sardonyx._src.compile.llvm.jit import compile_module, host_target

class HeapCounts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "free", "fast", "maps", "mapped", "u", "f", "used", "unused", "top")]

mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = HeapCounts

def heap_bytes():
    gc.collect()
    counts = mallinfo()
    return counts.used + counts.mapped

def compile_many(numbers):
    for number in numbers:
        compile_module(TEXT.replace("@twice", f"@twice_{number}"), host_target())

compile_many(range(20))
before = heap_bytes()
compile_many(range(100, 140))
print((heap_bytes() - before) / 40)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="glibc counts its heap")
def test_a_compilation_keeps_little_of_the_heap() -> None:
    code = f"TEXT = {TWICE!r}\n{HEAP}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 8_000, "a pass manager that is not freed takes 13,000"

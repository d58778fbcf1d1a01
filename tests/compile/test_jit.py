"""Kernels compiled, loaded, called, and kept on disk."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sardonyx._src.compile.llvm.cache import Cache, default_folder
from sardonyx._src.compile.llvm.jit import Library, compiled, host, load

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


def twice(library: Library) -> list[float]:
    call = library.function("twice", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    x, y = np.array([1, 2, 3], np.float32), np.zeros(3, np.float32)
    call(x.ctypes.data, y.ctypes.data, 3)
    return [float(v) for v in y]


def test_a_kernel_is_compiled_and_called() -> None:
    assert twice(load(TWICE, ["twice"])) == [2, 4, 6]


def test_a_text_that_llvm_refuses_is_our_fault() -> None:
    with pytest.raises(AssertionError, match="LLVM refuses a kernel"):
        compiled("define void @f() { ret i32 1 }", host())


def test_a_kernel_is_kept_and_found_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.get(host().key, TWICE) is None
    load(TWICE, ["twice"], cache)
    kept = cache.get(host().key, TWICE)
    assert kept is not None
    assert twice(Library(kept, ["twice"])) == [2, 4, 6]
    assert cache.get("another processor", TWICE) is None
    assert cache.get(host().key, TWICE + "\n") is None


@pytest.mark.parametrize("damage", [b"", b"short", bytes(200)])
def test_a_damaged_entry_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    cache = Cache(tmp_path)
    load(TWICE, ["twice"], cache)
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage)
    assert cache.get(host().key, TWICE) is None
    assert twice(load(TWICE, ["twice"], cache)) == [2, 4, 6]
    assert cache.get(host().key, TWICE) is not None


def test_entries_beyond_the_cap_go_oldest_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path, cap=250)
    for i, name in enumerate(("first", "second", "third")):
        cache.put("t", name, bytes(100))

        if cache.path("t", name).exists():
            os.utime(cache.path("t", name), (i, i))
    assert cache.get("t", "first") is None
    assert cache.get("t", "third") == bytes(100)


def test_a_large_folder_is_not_looked_at_with_every_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    monkeypatch.setattr(Cache, "trim", lambda self: looks.append(self.folder))
    cache = Cache(tmp_path, cap=10_000)
    for name in "abcdefgh":
        cache.put("t", name, bytes(100))
    assert len(looks) == 2  # at first, and when a sixteenth of the cap has come


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert twice(load(TWICE, ["twice"], Cache(tmp_path / "file"))) == [2, 4, 6]


def test_the_folder_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARDONYX_CACHE", "/somewhere")
    assert default_folder() == Path("/somewhere")
    monkeypatch.setenv("SARDONYX_CACHE", "")
    assert default_folder() is None


FORKS = """
import os, signal, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads, which is the subject
from compile.test_jit import TWICE, twice
from sardonyx._src.compile.llvm.jit import compiled, host, load
from sardonyx._src.compile.llvm.jit import Library
over = False
def go_on():
    while not over:
        Library(compiled(TWICE, host()), ["twice"])
thread = threading.Thread(target=go_on)
thread.start()
for _ in range(8):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(twice(load(TWICE, ["twice"])) != [2, 4, 6])
    if os.waitpid(child, 0)[1]:
        over = True
        sys.exit("a child waits, or computes something else")
over = True
thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_while_another_thread_compiles_leaves_the_child_able_to() -> None:
    path = str(Path(__file__).parents[1])
    found = subprocess.run(
        [sys.executable, "-c", FORKS],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert found.returncode == 0, found.stderr

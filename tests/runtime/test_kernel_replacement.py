"""Interpreted kernels are replaced by compiled ones while a session runs, with the same bits."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Event
from unittest.mock import patch

import numpy as np
import pytest

import sardonyx as sx
from compile import library_kernels
from compile.library_kernels import InterpretingLibrary
from sardonyx._src.compile.llvm import jit, loaded_kernels
from sardonyx._src.compile.llvm.compile_workers import WorkerPool
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.llvm.loaded_kernels import LoadedKernel
from sardonyx._src.runtime.programs import kernel_replacement
from sardonyx._src.runtime.programs.kernel_replacement import Background, Request, replace_kernels

TEXT = """<ir_version: 10, opset_import: ["": 21]> g (float[N,8] x, float[8] w) => (float[N,8] y) {
    a = Mul(x, w)  b = Sigmoid(a)  c = Sub(b, x)  y = Div(c, w) }"""
KEPT: list[dict[str, LoadedKernel]] = []  # kernels that programs may call as long as the process lives
DEADLINE = 60.0  # seconds
FEEDS = {
    "x": np.random.default_rng(0).standard_normal((37, 8), np.float32),
    "w": np.random.default_rng(1).standard_normal(8, np.float32),
}

pytestmark = pytest.mark.skipif(not host_target().class_name, reason="the processor is of no class")


@pytest.fixture
def interpreting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """A library with the interpreters only, and replacements that begin while the event is set, as it is."""
    KEPT.append({})
    may_replace = Event()
    may_replace.set()

    def replace_when_allowed(requests: Iterable[Request]) -> None:
        assert may_replace.wait(DEADLINE)
        replace_kernels(requests)

    monkeypatch.setattr(kernel_replacement, "DELAY", 0.05)
    monkeypatch.setattr(kernel_replacement, "replace_kernels", replace_when_allowed)
    monkeypatch.setattr(library_kernels, "CODES", {})
    with (
        patch.object(jit, "class_library", lambda _: InterpretingLibrary()),
        patch.multiple(loaded_kernels, LOADED=KEPT[-1]),
    ):
        yield may_replace
        wait_for(lambda: Background.thread is None)


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE
    while not holds():
        assert time.monotonic() < end, "nothing is replaced"
        time.sleep(0.02)


def replacement(session: sx.Session) -> tuple[bytes, bytes]:
    """The outputs before and after the kernels of a session are replaced."""
    before = session.run(FEEDS)["y"]
    wait_for(lambda: session.stats.library_kernels == 0)
    return before.tobytes(), session.run(FEEDS)["y"].tobytes()


@pytest.mark.parametrize("is_file", [False, True], ids=["model", "cached file"])
def test_kernels_are_replaced_between_runs(is_file: bool, interpreting: Event, tmp_path: Path) -> None:
    """A second session of a cached file begins with interpreted kernels, too, and has its kernels replaced."""
    model = sx.from_text(TEXT)
    expected = sx.Session(model, engine="native", start="compiled").run(FEEDS)["y"].tobytes()
    KEPT[-1].clear()
    source: sx.ir.Model | Path = model
    if is_file:
        source = tmp_path / "model.onnx"
        sx.save(model, source)
        os.utime(source, ns=(0, 0))
    for _ in range(2 if is_file else 1):
        interpreting.clear()
        session = sx.Session(source, engine="native")
        assert session.stats.library_kernels == 1
        interpreting.set()
        assert replacement(session) == (expected, expected)
        assert session.stats.stage == "compiled"
        del session
        KEPT[-1].clear()


def test_later_sessions_begin_with_the_compiled_kernel(interpreting: Event) -> None:
    first = sx.Session(sx.from_text(TEXT), engine="native")
    replacement(first)
    assert not any(kernel.is_interpreted for kernel in KEPT[-1].values())
    second = sx.Session(sx.from_text(TEXT.replace(" g ", " h ")), engine="native")
    assert second.stats.library_kernels == 0


def test_saved_programs_have_compiled_kernels(interpreting: Event, tmp_path: Path) -> None:
    """Nothing may be there that could compile them later."""
    sx.tools.compile(sx.from_text(TEXT), tmp_path / "program.sdx")
    assert sx.Session(tmp_path / "program.sdx").stats.library_kernels == 0


def test_nothing_is_compiled_for_programs_that_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a worker starts")

    monkeypatch.setattr(kernel_replacement, "WorkerPool", refuse)
    replace_kernels([Request(lambda: None, 0, "elementwise/0 float.next<-float.next 0=exp(i0);0")])  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is of POSIX")
def test_a_forked_child_has_neither_lock_nor_workers_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = WorkerPool(1)
    monkeypatch.setattr(Background, "pool", pool)
    with kernel_replacement.LOCK:
        child = os.fork()
        if not child:
            is_free = kernel_replacement.LOCK.acquire(blocking=False)
            os._exit(0 if is_free and pool.is_over and Background.pool is None else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert Background.pool is pool and not pool.is_over

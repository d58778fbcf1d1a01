"""Threads that cannot be started are errors, not waits without end."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

import sardonyx._src.threads as threads
from sardonyx._src.compile.llvm.compile_workers import CompileJob, WorkerPool
from sardonyx._src.errors import LimitError
from sardonyx._src.threads import start_thread


class DeadThread(threading.Thread):
    """A thread that ends before its first statement."""

    def start(self) -> None:
        threading.Event().wait()


def test_a_thread_runs_once_it_was_started() -> None:
    ran = threading.Event()
    thread = threading.Thread(target=ran.set)
    start_thread(thread)
    thread.join()
    assert ran.is_set()


def test_a_thread_that_never_runs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "START_SECONDS", 0.05)
    with pytest.raises(LimitError, match="to start the thread 'worker'"):
        start_thread(DeadThread(name="worker", daemon=True))


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
def test_what_the_system_refuses_is_an_error(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("_thread.start_new_thread", refuse)
        with pytest.raises(LimitError, match="to start the thread"):
            start_thread(threading.Thread())
    thread = threading.Thread()
    monkeypatch.setattr(thread, "start", refuse)
    with pytest.raises(LimitError, match="to start the thread"):
        start_thread(thread)


def test_jobs_return_if_no_worker_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("_thread.start_new_thread", lambda *_: raise_error(RuntimeError()))
    pool, job = WorkerPool(2), CompileJob(b"")
    pool.submit(job)
    assert job.done.is_set()
    assert job.code is None
    assert pool.query_host_info() is None


def raise_error(error: Exception) -> int:
    raise error


WITHOUT_MEMORY = """
import resource
import numpy as np, sardonyx as sx
import sardonyx._src.threads as threads
threads.START_SECONDS = 1.0
session = sx.Session(sx.from_text('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (y) { y = Relu(x) }'),
                     engine="reference")
feeds = {"x": np.ones(1 << 23, np.float32)}
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    session.run(feeds)
except sx.errors.LimitError as error:
    print(type(error).__name__)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="address spaces are limited on Linux")
def test_a_run_in_a_process_without_memory_ends() -> None:
    command = [sys.executable, "-c", WITHOUT_MEMORY]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert process.stdout == "LimitError\n", process.stderr

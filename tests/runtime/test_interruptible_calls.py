"""Calls in helper threads: results, errors, and callers that stop waiting."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from sardonyx._src.errors import CancelledError, EvaluationError, LimitError
from sardonyx._src.interp.run_control import Cancellation, RunControl
from sardonyx._src.runtime.fallbacks.interruptible_calls import (
    IDLE_HELPERS,
    HelperThread,
    PendingCall,
    call_interruptibly,
)


def wait_until_ended(threads: set[threading.Thread]) -> None:
    for thread in threads:
        thread.join(timeout=10)
        assert not thread.is_alive()


def helpers() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "sardonyx-helper"}


def test_a_call_returns_its_result_and_raises_its_error() -> None:
    control = RunControl(Cancellation())
    assert call_interruptibly(lambda: 3, control) == 3
    with pytest.raises(EvaluationError, match="no"):
        call_interruptibly(lambda: raise_error(EvaluationError("no")), control)
    with pytest.raises(SystemExit):
        call_interruptibly(lambda: raise_error(SystemExit()), control)


def raise_error(error: BaseException) -> None:
    raise error


def test_a_helper_is_used_again_after_any_result() -> None:
    IDLE_HELPERS.clear()
    used = []
    for _ in range(5):
        call_interruptibly(lambda: used.append(threading.get_ident()), RunControl(Cancellation()))
        with pytest.raises(ValueError, match="no"):
            call_interruptibly(lambda: raise_error(ValueError("no")), RunControl(Cancellation()))
    assert len(set(used)) == len(IDLE_HELPERS) == 1
    assert threading.get_ident() not in used


def test_a_call_sees_the_callers_context() -> None:
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        call_interruptibly(lambda: np.float32(1) / np.zeros(2, np.float32), RunControl(Cancellation()))


@pytest.mark.parametrize("reason", ["cancel", "deadline"])
def test_a_caller_stops_waiting_and_python_code_ends(reason: str) -> None:
    cancellation, before = Cancellation(), helpers()
    control = RunControl(cancellation, seconds=0.05 if reason == "deadline" else None)
    timer = threading.Timer(0.05, cancellation.cancel)
    if reason == "cancel":
        timer.start()

    def loop() -> None:
        while True:
            time.sleep(0.001)

    IDLE_HELPERS.clear()
    with pytest.raises(CancelledError if reason == "cancel" else LimitError):
        call_interruptibly(loop, control)
    wait_until_ended(helpers() - before)
    with pytest.raises(CancelledError):
        control.check()


def test_a_caller_leaves_a_thread_that_has_not_taken_its_call() -> None:
    helpers = [HelperThread() for _ in range(50)]
    for helper in helpers:
        helper.start(PendingCall(lambda: None))
        helper.leave()
    for helper in helpers:
        helper.thread.join(20)
        assert not helper.thread.is_alive()


def test_a_run_that_began_after_a_cancellation_goes_on() -> None:
    cancellation = Cancellation()
    early = RunControl(cancellation)
    cancellation.cancel()
    RunControl(cancellation).check()
    with pytest.raises(CancelledError):
        early.check()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_helpers_of_its_own() -> None:
    control = RunControl(Cancellation())
    call_interruptibly(lambda: 1, control)
    child = os.fork()
    if child == 0:
        os._exit(0 if call_interruptibly(lambda: 2, control) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert sys.platform != "win32"


ABANDONING = """
import numpy as np, sardonyx as sx
from sardonyx._src.errors import LimitError
product = '<ir_version: 10, opset_import: ["": 21]> g (float[N,N] x) => (y) { y = MatMul(x, x) }'
session = sx.Session(sx.from_text(product), engine="reference")
try:
    session.run({"x": np.ones((3000, 3000), np.float32)}, timeout=0.05)
except LimitError:
    print("abandoned")
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_process_ends_after_the_kernels_that_it_abandoned(threads: str) -> None:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads}
    command = [sys.executable, "-c", ABANDONING]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (process.returncode, process.stdout) == (0, "abandoned\n"), process.stderr

"""Ctrl-C ends a long native run soon, and the session goes on from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array

SOON = 0.5  # seconds: several signal intervals on a busy machine
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals work differently")


def long_text(steps: int, size: int) -> str:
    """A chain of products, each of which takes about a millisecond for many rows."""
    lines = [f"x{i + 1} = MatMul(x{i}, w)" for i in range(steps)]
    return f"g (float[N,{size}] x0, float[{size},{size}] w) => (float[N,{size}] x{steps}) {{ {' '.join(lines)} }}"


def measure_interrupt_delay(session: sx.Session, feeds: dict[str, Array], after: float) -> float:
    """Seconds from the signal, sent `after` seconds after the start of the run, until the run ends."""
    sent = []

    def send() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        session.run(feeds)
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]
    finally:
        timer.join()
    raise AssertionError("the run is over before the signal comes")


def interrupt_long_runs() -> None:
    """Interrupts the first run of a session and one on the fast path; runs the session again after each."""
    size, steps = 512, 500
    model = parse_model(long_text(steps, size))
    few, many = (
        {"x0": np.ones((rows, size), np.float32), "w": np.eye(size, dtype=np.float32)} for rows in (1, 512)
    )
    for threads in (1, 2):
        session = sx.Session(model, engine="native", threads=threads)
        delays = [measure_interrupt_delay(session, many, 0.1)]
        for feeds in (few, many, many):
            np.testing.assert_array_equal(session.run(feeds)[f"x{steps}"], feeds["x0"])
        delays.append(measure_interrupt_delay(session, many, 0.15))
        np.testing.assert_array_equal(session.run(few)[f"x{steps}"], few["x0"])
        assert max(delays) < SOON, f"{delays} s until runs end, with {threads} threads"


def interrupt_endless_loops() -> None:
    """Interrupts loops: in the first run of a session, and on the fast path."""
    text = """g (float[3] x, int64 m) => (float[3] y) {
      y = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t) {
        goes = Identity(on)  t = Max(s, x)
      }> (m, , x)
    }"""
    for threads in (1, 2):
        session = sx.Session(
            parse_model(text), engine="native", threads=threads, limits=sx.RunLimits(iterations=1 << 62)
        )
        few, many = ({"x": np.ones(3, np.float32), "m": np.array(m)} for m in (3, 1 << 62))
        delays = [measure_interrupt_delay(session, many, 0.1)]
        for _ in range(4):
            np.testing.assert_array_equal(session.run(few)["y"], few["x"])
        delays.append(measure_interrupt_delay(session, many, 0.1))
        np.testing.assert_array_equal(session.run(few)["y"], few["x"])
        assert max(delays) < SOON, f"{delays} s until runs end, with {threads} threads"


@pytest.mark.parametrize("what", ["interrupt_long_runs", "interrupt_endless_loops"])
def test_a_long_run_is_interrupted(what: str) -> None:
    code = f"from runtime.test_interrupts import {what}; {what}()"
    process = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": "tests"},
        check=False,
        capture_output=True,
    )
    assert process.returncode == 0, process.stderr.decode()

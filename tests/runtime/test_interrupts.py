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
from models import model
from sardonyx._src.ir.tensors import Array

SOON = 0.5  # seconds: several stretches, and a machine that is busy
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals come in another way")


def long_text(steps: int, size: int) -> str:
    """Products one after another, each of which takes about a millisecond for many rows."""
    lines = [f"x{i + 1} = MatMul(x{i}, w)" for i in range(steps)]
    return f"g (float[N,{size}] x0, float[{size},{size}] w) => (float[N,{size}] x{steps}) {{ {' '.join(lines)} }}"


def interrupted(session: sx.Session, feeds: dict[str, Array], after: float) -> float:
    """Seconds from the signal, which comes so long after the run has begun, until the run has ended."""
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


def long_runs() -> None:
    """Interrupts the first run of a session, and one that goes the short way; and runs it again after each."""
    size, steps = 512, 500
    made = model(long_text(steps, size))
    few, many = (
        {"x0": np.ones((rows, size), np.float32), "w": np.eye(size, dtype=np.float32)} for rows in (1, 512)
    )
    for threads in (1, 2):
        session = sx.Session(made, engine="native", threads=threads)
        took = [interrupted(session, many, 0.1)]
        for feeds in (few, many, many):
            np.testing.assert_array_equal(session.run(feeds)[f"x{steps}"], feeds["x0"])
        took.append(interrupted(session, many, 0.15))
        np.testing.assert_array_equal(session.run(few)[f"x{steps}"], few["x0"])
        assert max(took) < SOON, f"{took} s until runs end, with {threads} threads"


def endless_loop() -> None:
    """Interrupts loops: of one that a session has not run before, and one that goes the short way."""
    text = """g (float[3] x, int64 m) => (float[3] y) {
      y = Loop <body = each (int64 i, bool on, float[3] s) => (bool goes, float[3] t) {
        goes = Identity(on)  t = Max(s, x)
      }> (m, , x)
    }"""
    for threads in (1, 2):
        session = sx.Session(
            model(text), engine="native", threads=threads, limits=sx.RunLimits(iterations=1 << 60)
        )
        few, many = ({"x": np.ones(3, np.float32), "m": np.array(m)} for m in (3, 1 << 62))
        took = [interrupted(session, many, 0.1)]
        for _ in range(4):
            np.testing.assert_array_equal(session.run(few)["y"], few["x"])
        took.append(interrupted(session, many, 0.1))
        np.testing.assert_array_equal(session.run(few)["y"], few["x"])
        assert max(took) < SOON, f"{took} s until runs end, with {threads} threads"


@pytest.mark.parametrize("what", ["long_runs", "endless_loop"])
def test_a_long_run_is_interrupted(what: str) -> None:
    code = f"from runtime.test_interrupts import {what}; {what}()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": "tests"},
        check=False,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()

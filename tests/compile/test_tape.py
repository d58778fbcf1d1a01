"""The runner of tapes with one thread, and its text for other processors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from compile.marked_tapes import MarkedTape
from sardonyx._src.compile.llvm.jit import Library, host, load
from sardonyx._src.compile.pool_words import MOST_COUNTED, NEVER, STRETCH
from sardonyx._src.compile.tape import source


@cache
def runner() -> Library:
    return load(source(host()), ["run", "work"])


LONG = STRETCH  # nanoseconds, after which a run comes back


def run(tape: MarkedTape, first: int = 0, last: int | None = None, threads: int = 1) -> int:
    """Runs a tape on this thread, with a pool that shares nothing."""
    word, pointer = ctypes.c_int64, ctypes.c_void_p
    types = (pointer, word, word, pointer, word, pointer, word)
    call: Callable[..., int] = ctypes.CFUNCTYPE(word, *types)(runner().addresses["run"])
    scratch, pool = np.zeros(8, np.int64), np.full(8, NEVER)
    last = len(tape) if last is None else last
    return call(tape.address, first, last, pool.ctypes.data, threads, scratch.ctypes.data, 64)


def test_an_empty_tape_ends_at_once() -> None:
    assert run(MarkedTape([])) == 0


def test_each_unit_is_done_once_whatever_a_record_weighs() -> None:
    tape = MarkedTape([(5, 0, 0), (1, LONG // 4, 0), (64, LONG // 2, 0)])
    assert run(tape) == 3
    assert tape.done() == [{1}, {1}, {1}]


def test_a_record_without_units_does_nothing() -> None:
    tape = MarkedTape([(3, 0, 0), (0, LONG // 2, 0), (3, 0, 0)])
    assert run(tape) == 3
    assert tape.done() == [{1}, set(), {1}]


def test_a_run_stops_at_what_python_does_and_goes_on_behind_it() -> None:
    tape = MarkedTape([(3, 0, 0), (None, 0, 0), (4, 0, 0), (None, 0, 0)])
    assert run(tape) == 1
    assert tape.done() == [{1}, set(), {0}, set()]
    assert run(tape, 2) == 3
    assert run(tape, 4) == 4
    assert tape.done() == [{1}, set(), {1}, set()]


def test_a_run_does_the_records_that_it_was_given() -> None:
    tape = MarkedTape([(2, 0, 0)] * 5)
    assert run(tape, 1, 3) == 3
    assert tape.done() == [{0}, {1}, {1}, {0}, {0}]


def test_a_run_comes_back_behind_the_record_that_fills_a_stretch() -> None:
    for weights, ends in (
        ((), [0]),
        ((0, 0.5, 0.25), [3]),
        ((0.5, 0.6, 0.5, 0.2, 0.31, 0.1), [2, 5, 6]),
        ((5, 0.1, 0.1, 7, 0.5), [1, 4, 5]),
        ((2**60 / LONG,) * 3, [1, 2, 3]),
    ):
        tape, found = MarkedTape([(1, int(weight * LONG), 0) for weight in weights]), [0]
        while found[-1] != len(tape) or len(found) == 1:
            found.append(run(tape, found[-1]))
        assert found[1:] == ends


def test_many_threads_make_long_stretches() -> None:
    tape = MarkedTape([(1, LONG, 0)] * 100)
    assert run(tape, threads=1) == 1
    assert run(tape, threads=MOST_COUNTED) == MOST_COUNTED
    assert run(tape, threads=64) == MOST_COUNTED


def test_a_record_sends_a_run_elsewhere_while_its_flag_is_set() -> None:
    tape = MarkedTape([(1, 0, 0)] * 5)
    forward, back = tape.jump(1, 2), tape.jump(3, -2)
    forward[0] = 1
    assert run(tape) == 5
    assert [marks[0] for marks in tape.marks] == [1, 1, 0, 1, 1]
    forward[0], back[0] = 0, 1
    assert run(tape, 0, 3) == 3
    assert run(tape, 3, 4) == 1  # which is before where that run began
    assert [marks[0] for marks in tape.marks] == [2, 2, 1, 2, 1]


def test_an_endless_loop_comes_back_again_and_again() -> None:
    tape = MarkedTape([(1, LONG // 1000, 0), (1, 0, 0)])
    tape.jump(1, -1)[0] = 1
    assert [run(tape) for _ in range(3)] == [1, 1, 1]
    assert 1000 < tape.marks[0][0] <= 3 * 1001
    nothing = MarkedTape([(0, 0, 0)])
    nothing.jump(0, 0)[0] = 1
    assert run(nothing) == 1


def test_texts_differ_by_processor_and_one_that_is_not_known_is_our_fault() -> None:
    assert "@llvm.aarch64.hint" in source(replace(host(), triple="aarch64-unknown-linux-gnu"))
    assert "@llvm.x86.sse2.pause" in source(replace(host(), triple="x86_64-pc-windows-msvc"))
    with pytest.raises(AssertionError, match="nothing is known of riscv64"):
        source(replace(host(), triple="riscv64-unknown-linux-gnu"))

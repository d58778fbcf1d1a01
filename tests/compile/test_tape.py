"""The run loop of tapes on one thread, and its LLVM text for other architectures."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from compile.marked_tapes import MarkedTape, allow_long_units
from sardonyx._src.compile.executor import status
from sardonyx._src.compile.executor.pool_layout import (
    MAX_INTERVAL_THREADS,
    NEVER_PARALLEL,
    SIGNAL_INTERVAL,
    UNKNOWN_WEIGHT,
    UNKNOWN_WEIGHT_SLICES,
)
from sardonyx._src.compile.executor.tape import tape_module
from sardonyx._src.compile.llvm.jit import Library, host_target, load


@cache
def run_loop() -> Library:
    return load(tape_module(host_target()), ["run", "work"])


LONG = SIGNAL_INTERVAL  # estimated ns after which a run returns


def run(
    tape: MarkedTape,
    first: int = 0,
    last: int | None = None,
    threads: int = 1,
    block: NDArray[np.int64] | None = None,
) -> int:
    """Runs a tape on this thread, with a pool in which no record is a parallel job; block: the status block."""
    block = allow_long_units() if block is None else block
    i64, pointer = ctypes.c_int64, ctypes.c_void_p
    types = (pointer, i64, i64, pointer, i64, pointer, i64, pointer)
    call: Callable[..., int] = ctypes.CFUNCTYPE(i64, *types)(run_loop().addresses["run"])
    scratch, pool = np.zeros(8, np.int64), np.full(8, NEVER_PARALLEL)
    last = len(tape) if last is None else last
    memory = (scratch.ctypes.data, 64, block.ctypes.data)
    return call(tape.address, first, last, pool.ctypes.data, threads, *memory)


def test_an_empty_tape_ends_at_once() -> None:
    assert run(MarkedTape([])) == 0


def test_each_unit_is_executed_once_whatever_the_weight_of_its_record() -> None:
    tape = MarkedTape([(5, 0, 0), (1, LONG // 4, 0), (64, LONG // 2, 0)])
    assert run(tape) == 3
    assert tape.execution_counts() == [{1}, {1}, {1}]


def test_a_record_without_units_does_nothing() -> None:
    tape = MarkedTape([(3, 0, 0), (0, LONG // 2, 0), (3, 0, 0)])
    assert run(tape) == 3
    assert tape.execution_counts() == [{1}, set(), {1}]


def test_a_run_stops_at_a_record_without_kernel_and_resumes_after_it() -> None:
    tape = MarkedTape([(3, 0, 0), (None, 0, 0), (4, 0, 0), (None, 0, 0)])
    assert run(tape) == 1
    assert tape.execution_counts() == [{1}, set(), {0}, set()]
    assert run(tape, 2) == 3
    assert run(tape, 4) == 4
    assert tape.execution_counts() == [{1}, set(), {1}, set()]


def test_a_run_executes_only_the_records_in_its_range() -> None:
    tape = MarkedTape([(2, 0, 0)] * 5)
    assert run(tape, 1, 3) == 3
    assert tape.execution_counts() == [{0}, {1}, {1}, {0}, {0}]


def test_a_run_returns_after_the_record_that_completes_a_signal_interval() -> None:
    for weights, ends in (
        ((), [0]),
        ((0, 0.5, 0.25), [3]),
        ((0.5, 0.6, 0.5, 0.2, 0.31, 0.1), [2, 5, 6]),
        ((5, 0.1, 0.1, 7, 0.5), [1, 4, 5]),
        ((2**60 / LONG,) * 3, [1, 2, 3]),
    ):
        tape, reached = MarkedTape([(1, int(weight * LONG), 0) for weight in weights]), [0]
        while reached[-1] != len(tape) or len(reached) == 1:
            reached.append(run(tape, reached[-1]))
        assert reached[1:] == ends


def test_a_long_record_is_executed_in_slices_of_its_units() -> None:
    tape, block = MarkedTape([(1, 0, 0), (1000, 50 * LONG, 0), (1, 0, 0)]), allow_long_units()
    reached, units = 0, [0]
    while reached < len(tape):
        reached = run(tape, reached, block=block)
        assert sum(tape.marks[1].tolist()) == (block[status.RESUME_UNIT] or 1000)
        units.append(int(block[status.RESUME_UNIT]))
    assert tape.execution_counts() == [{1}, {1}, {1}]
    slices = [0, *filter(None, units), 1000]
    assert all(0 < later - earlier <= 1000 / 50 for earlier, later in itertools.pairwise(slices))


def test_a_record_of_unknown_weight_is_executed_in_slices() -> None:
    tape, block = MarkedTape([(1000, UNKNOWN_WEIGHT, 0)]), allow_long_units()
    calls = 0
    while calls == 0 or block[status.RESUME_UNIT]:
        run(tape, block=block)
        calls += 1
    assert tape.execution_counts() == [{1}]
    assert UNKNOWN_WEIGHT_SLICES / 2 < calls <= UNKNOWN_WEIGHT_SLICES


def test_a_run_returns_in_front_of_long_units_unless_they_are_allowed() -> None:
    tape, block = MarkedTape([(2, 0, 0), (2, 10 * LONG, 0), (2, 0, 0)]), np.zeros(16, np.int64)
    assert run(tape, block=block) == run(tape, 1, block=block) == 1
    assert block[status.LONG_UNITS] == status.REFUSED
    assert tape.execution_counts() == [{1}, {0}, {0}]
    block[status.LONG_UNITS] = status.ALLOWED
    assert run(tape, 1, block=block) == 1
    assert tape.marks[1].tolist() == [1, 0]
    assert run(tape, 1, block=block) == 2
    assert run(tape, 2, block=block) == 3
    assert tape.execution_counts() == [{1}, {1}, {1}]


def test_the_signal_interval_grows_with_the_threads() -> None:
    tape = MarkedTape([(1, LONG, 0)] * 100)
    assert run(tape, threads=1) == 1
    assert run(tape, threads=MAX_INTERVAL_THREADS) == MAX_INTERVAL_THREADS
    assert run(tape, threads=64) == MAX_INTERVAL_THREADS


def test_a_run_jumps_while_the_flag_of_a_record_is_set() -> None:
    tape = MarkedTape([(1, 0, 0)] * 5)
    forward, backward = tape.jump(1, 2), tape.jump(3, -2)
    forward[0] = 1
    assert run(tape) == 5
    assert [marks[0] for marks in tape.marks] == [1, 1, 0, 1, 1]
    forward[0], backward[0] = 0, 1
    assert run(tape, 0, 3) == 3
    assert run(tape, 3, 4) == 1  # before the first record of that run
    assert [marks[0] for marks in tape.marks] == [2, 2, 1, 2, 1]


def test_an_endless_loop_returns_after_each_signal_interval() -> None:
    tape = MarkedTape([(1, LONG // 1000, 0), (1, 0, 0)])
    tape.jump(1, -1)[0] = 1
    assert [run(tape) for _ in range(3)] == [1, 1, 1]
    assert 1000 < tape.marks[0][0] <= 3 * 1001
    empty_loop = MarkedTape([(0, 0, 0)])
    empty_loop.jump(0, 0)[0] = 1
    assert run(empty_loop) == 1


def test_text_depends_on_the_architecture_which_must_be_supported() -> None:
    assert "@llvm.aarch64.hint" in tape_module(replace(host_target(), triple="aarch64-unknown-linux-gnu"))
    assert "@llvm.x86.sse2.pause" in tape_module(replace(host_target(), triple="x86_64-pc-windows-msvc"))
    riscv = tape_module(replace(host_target(), triple="riscv64-unknown-linux-gnu"))
    assert "@llvm.set.rounding" in riscv and "pause" not in riscv
    with pytest.raises(AssertionError, match="target must be x86-64, AArch64 or RISC-V; got powerpc64le"):
        tape_module(replace(host_target(), triple="powerpc64le-unknown-linux-gnu"))

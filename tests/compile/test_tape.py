"""The runner of tapes with one thread, and its text for other processors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from compile.marked_tapes import MarkedTape
from sardonyx.compile.llvm.jit import Library, host, load
from sardonyx.compile.tape import source


@cache
def runner() -> Library:
    return load(source(host()), ["run", "work"])


def run(tape: MarkedTape, first: int = 0, last: int | None = None) -> int:
    """Runs a tape with no pool, on this thread."""
    word, pointer = ctypes.c_int64, ctypes.c_void_p
    types = (pointer, word, word, pointer, word, pointer, word)
    call: Callable[..., int] = ctypes.CFUNCTYPE(word, *types)(runner().addresses["run"])
    scratch = np.zeros(8, np.int64)
    return call(tape.address, first, len(tape) if last is None else last, None, 1, scratch.ctypes.data, 64)


def test_an_empty_tape_ends_at_once() -> None:
    assert run(MarkedTape([])) == 0


def test_each_unit_is_done_once_whatever_a_record_weighs() -> None:
    tape = MarkedTape([(5, 0, 0), (1, 10**9, 0), (64, 10**9, 0)])
    assert run(tape) == 3
    assert tape.done() == [{1}, {1}, {1}]


def test_a_record_without_units_does_nothing() -> None:
    tape = MarkedTape([(3, 0, 0), (0, 10**9, 0), (3, 0, 0)])
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


def test_texts_differ_by_processor_and_one_that_is_not_known_is_our_fault() -> None:
    assert "@llvm.aarch64.hint" in source(replace(host(), triple="aarch64-unknown-linux-gnu"))
    assert "@llvm.x86.sse2.pause" in source(replace(host(), triple="x86_64-pc-windows-msvc"))
    with pytest.raises(AssertionError, match="nothing is known of riscv64"):
        source(replace(host(), triple="riscv64-unknown-linux-gnu"))

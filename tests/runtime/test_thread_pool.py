"""The workers of a process: every unit done once, runs side by side, forks, ends, and rest between runs."""

from __future__ import annotations

import ctypes
import errno
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from compile.marked_tapes import MarkedTape, allow_long_units, sizes
from sardonyx._src.compile.executor import status
from sardonyx._src.compile.executor.pool_layout import CURRENT_RUN, IS_EAGER, SIGNAL_INTERVAL, UNKNOWN_WEIGHT
from sardonyx._src.compile.llvm.jit import host_target, load
from sardonyx._src.runtime.limits.cpus import available_cpus
from sardonyx._src.runtime.limits.thread_pool import (
    HAS_THREADS,
    Scratch,
    ThreadPool,
    get_thread_pool,
    workers,
)

pytestmark = pytest.mark.skipif(not HAS_THREADS, reason="a pool has one thread here")
HEAVY = 10**6  # nanoseconds, said to be the weight: records of it are shared
TESTS = Path(__file__).parents[1]


def run_tape(pool: ThreadPool, tape: MarkedTape, scratch: Scratch | None = None) -> int:
    """Runs a tape, interval by interval; returns the record at which it ends."""
    record, scratch, block = 0, scratch or pool.scratch(64), allow_long_units()
    while record < len(tape):
        record = pool.run(tape.address, record, len(tape), scratch, block.ctypes.data)
    return record


def random_records(random: random.Random) -> list[tuple[int | None, int, int]]:
    """Records of odd numbers of units and any weight."""
    return [
        (
            random.choice([0, 1, 2, 3, 7, 64, 1000]),
            random.choice([0, HEAVY, HEAVY, 10**12]),
            random.choice([0, 5]),
        )
        for _ in range(random.randrange(12))
    ]


def test_a_pool_has_the_requested_number_of_threads() -> None:
    assert get_thread_pool(1) == ThreadPool(1)
    assert get_thread_pool(1).address == 0
    assert get_thread_pool(3).threads == 3
    assert get_thread_pool().threads >= 1
    assert get_thread_pool(2).address == get_thread_pool(3).address != 0
    with pytest.raises(AssertionError, match="must have at least 1 thread"):
        get_thread_pool(0)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_each_unit_of_a_grid_is_run_once(threads: int) -> None:
    rng, pool = random.Random(threads), get_thread_pool(threads)
    for _ in range(300):
        grids = [(rng.randrange(1, 9), rng.randrange(1, 70), rng.randrange(1, 40)) for _ in range(6)]
        weights = [rng.choice([0, HEAVY, 10**9, UNKNOWN_WEIGHT]) for _ in grids]
        tape = MarkedTape([(p * g, weight, 0) for (p, g, _), weight in zip(grids, weights, strict=True)])
        for index, (_, groups, block) in enumerate(grids):
            tape.divide_rows(index, groups, block)
        assert run_tape(pool, tape) == len(tape)
        assert tape.execution_counts() == [{1}] * len(grids)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_each_unit_is_run_once(threads: int) -> None:
    rng, pool = random.Random(threads), get_thread_pool(threads)
    for _ in range(1000):
        tape = MarkedTape(random_records(rng))
        assert run_tape(pool, tape) == len(tape)
        assert all(done <= {1} for done in tape.execution_counts())


def test_chunks_decrease_down_to_the_grain_size() -> None:
    tapes = [MarkedTape([(units, weight, 0)], sizes()) for units, weight in ((36, HEAVY), (360, 108_000))]
    for tape in tapes:
        run_tape(get_thread_pool(2), tape)
    fine, coarse = (tape.marks[0].tolist() for tape in tapes)
    assert fine == marks_of(4, 3, 3, 2, 2, 1, 1, 1, 1) * 2
    assert coarse == marks_of(36, 29, 23, 19, 15, 12, 10, 9, 9, 9, 9) * 2  # 9 take 2,700 ns


def marks_of(*sizes: int) -> list[int]:
    return [size for size in sizes for _ in range(size)]


def test_threads_divide_the_row_groups_of_a_grid() -> None:
    tape = MarkedTape([(3 * 16, HEAVY, 0)], sizes())
    tape.divide_rows(0, 16, 8)
    run_tape(get_thread_pool(2), tape)
    # Each queue has chunks of 8 units, the fewest of a grid: those of its 8 row groups in a panel.
    assert tape.marks[0].tolist() == [8] * 48


def test_a_chunk_of_several_panels_is_a_call_for_each() -> None:
    tape = MarkedTape([(6 * 16, HEAVY, 0)], sizes())
    tape.divide_rows(0, 16, 8)
    run_tape(get_thread_pool(2), tape)
    # Each queue has chunks of 10, 8, 8, 8, 8 and 6 units of panels of 8.
    panels = [marks_of(8), *[marks_of(2, 6)] * 5]
    assert tape.marks[0].tolist() == [mark for panel in panels for mark in panel * 2]


def test_threads_divide_the_panels_of_few_row_groups() -> None:
    tape = MarkedTape([(3 * 7, HEAVY, 0)], sizes())
    tape.divide_rows(0, 7, 36)
    run_tape(get_thread_pool(2), tape)
    assert tape.marks[0].tolist() == marks_of(2, 2, 2, 1, 1, 1, 1, 3, 2, 2, 1, 1, 1, 1)


def test_slices_of_a_grid_are_whole_panels() -> None:
    tape, pool, block = (
        MarkedTape([(100 * 16, 10 * SIGNAL_INTERVAL, 0)]),
        get_thread_pool(2),
        allow_long_units(),
    )
    tape.divide_rows(0, 16, 36)
    ends: list[int] = []
    while not ends or ends[-1]:
        pool.run(tape.address, 0, 1, pool.scratch(64), block.ctypes.data)
        ends.append(int(block[status.RESUME_UNIT]))
    assert len(ends) > 5
    assert all(end % 16 == 0 for end in ends)
    assert tape.execution_counts() == [{1}]


def test_more_units_than_a_slot_can_count_chunks_are_shared() -> None:
    tape = MarkedTape([(1 << 24, UNKNOWN_WEIGHT, 0)])
    run_tape(get_thread_pool(3), tape)
    assert tape.execution_counts() == [{1}]


def test_records_are_in_order_for_every_thread() -> None:
    """One record counts the marks of the others up: a unit that ran too early or twice shows."""
    pool, tape = get_thread_pool(8), MarkedTape([(64, HEAVY, 0)] * 200)
    for args in tape.args:
        args[0] = tape.args[0][0]
    for times in range(1, 21):
        run_tape(pool, tape)
        assert set(tape.marks[0].tolist()) == {200 * times}


def test_a_run_of_fewer_threads_is_entered_by_no_other_worker() -> None:
    large, small = get_thread_pool(8), get_thread_pool(2)
    first, second = MarkedTape([(64, HEAVY, 0)] * 3), MarkedTape([(64, HEAVY, 0)] * 3)
    block = allow_long_units()
    theirs, ours = large.scratch(64), large.scratch(64)  # with scratch for workers that must not enter
    ctypes.memset(ours.address, 0xFF, 8 * ours.stride)
    for _ in range(1000):
        large.run(first.address, 0, 3, theirs, block.ctypes.data)
        small.run(second.address, 0, 3, ours, block.ctypes.data)
    assert first.execution_counts() == second.execution_counts() == [{1000}] * 3
    foreign = ctypes.string_at(ours.address + 2 * ours.stride, 6 * ours.stride)
    assert foreign == b"\xff" * len(foreign)


def test_a_run_stops_at_a_record_of_python() -> None:
    tape = MarkedTape([(64, HEAVY, 0), (None, 0, 0), (64, HEAVY, 0)])
    pool = get_thread_pool(4)
    scratch = pool.scratch(64)
    block = allow_long_units()
    assert pool.run(tape.address, 0, 3, scratch, block.ctypes.data) == 1
    assert pool.run(tape.address, 2, 3, scratch, block.ctypes.data) == 3
    assert tape.execution_counts() == [{1}, set(), {1}]


def test_runs_of_several_python_threads_do_not_disturb_one_another() -> None:
    wrong: list[object] = []

    def several(seed: int) -> None:
        rng, pool = random.Random(seed), get_thread_pool(2 + seed % 3)
        for _ in range(500):
            tape = MarkedTape(random_records(rng))
            if run_tape(pool, tape) != len(tape) or not all(done <= {1} for done in tape.execution_counts()):
                wrong.append(tape)

    threads = [threading.Thread(target=several, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_workers_help() -> None:
    """More than one thread takes part in a long job: else its scratch would always be the first."""
    pool, tape = get_thread_pool(2), MarkedTape([(512, 10**9, 20_000)])
    scratch = pool.scratch(64)
    second = ctypes.c_int64.from_address(scratch.address + scratch.stride)
    for _ in range(50):
        run_tape(pool, tape, scratch)
        if second.value:
            return
    pytest.fail("no worker has written to its scratch")


def test_no_worker_is_woken_for_a_small_run() -> None:
    pool, little, enough = (
        get_thread_pool(2),
        MarkedTape([(64, 6_000, 0)] * 10),
        MarkedTape([(64, 6_000, 0)] * 20),
    )
    run = ctypes.c_int64.from_address(pool.address + 8 * CURRENT_RUN)
    before = run.value >> 16
    run_tape(pool, little)
    assert run.value >> 16 == before
    run_tape(pool, enough)
    assert run.value >> 16 == before + 1
    assert little.execution_counts() + enough.execution_counts() == [{1}] * 30


def test_workers_use_no_time_between_runs() -> None:
    """In one of some periods: threads of other sessions may be at work."""
    pool, tape = get_thread_pool(8), MarkedTape([(64, HEAVY, 100)] * 20)
    run_tape(pool, tape)
    time.sleep(0.05)  # for workers that are still going to sleep
    assert min(processor_time_of_a_period() for _ in range(5)) < 0.01


def processor_time_of_a_period() -> float:
    """The seconds that all threads of the process use in a quarter of a second in which this one sleeps."""
    before = time.process_time()
    time.sleep(0.25)
    return time.process_time() - before


@pytest.mark.skipif(sys.platform != "linux" or available_cpus() < 2, reason="workers sleep between all runs")
def test_a_worker_stays_awake_between_runs_that_follow_each_other_alone() -> None:
    pool, tape = get_thread_pool(2), MarkedTape([(64, HEAVY, 100)] * 20)
    slot = workers(2).slot_address(1, IS_EAGER)
    is_eager = ctypes.c_int64.from_address(slot)
    assert wait_for_value(is_eager, 1, lambda: run_tape(pool, tape))

    def run_after_a_while() -> None:
        time.sleep(0.005)
        run_tape(pool, tape)

    assert wait_for_value(is_eager, 0, run_after_a_while)


def test_a_worker_without_a_processor_of_its_own_sleeps_between_all_runs() -> None:
    count = available_cpus() + 1
    pool, tape = get_thread_pool(count), MarkedTape([(64, HEAVY, 100)] * 20)
    is_eager = ctypes.c_int64.from_address(workers(count).slot_address(count - 1, IS_EAGER))
    for _ in range(50):
        run_tape(pool, tape)
        assert not is_eager.value


def wait_for_value(slot: ctypes.c_int64, value: int, run: Callable[[], object]) -> bool:
    """Whether a slot has a value after one of many runs; on a busy machine a worker may miss most of them."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        run()
        if slot.value == value:
            return True
    return False


# x86's control word with denormal numbers taken and given as zero, put into the thread that calls
ODD_MODE = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define i64 @swap(i64 %mode) {
 %place = alloca i32
 call void @llvm.x86.sse.stmxcsr(ptr %place)
 %before = load i32, ptr %place
 %new = trunc i64 %mode to i32
 store i32 %new, ptr %place
 call void @llvm.x86.sse.ldmxcsr(ptr %place)
 %wide = zext i32 %before to i64
 ret i64 %wide
}
define void @kernel(ptr %args, i64 %first, i64 %last, ptr %scratch) {
 %marks = load ptr, ptr %args
 %mark = getelementptr i64, ptr %marks, i64 %first
 %place = alloca i32
 call void @llvm.x86.sse.stmxcsr(ptr %place)
 %mode = load i32, ptr %place
 %wide = zext i32 %mode to i64
 store i64 %wide, ptr %mark
 ret void
}"""


@pytest.mark.skipif(not host_target().triple.startswith("x86_64"), reason="modes of x86")
@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_keep_denormal_numbers_whatever_the_caller_does(threads: int) -> None:
    odd, flags = 0x9FC0, 0x3F
    library, pool = load(ODD_MODE, ["swap", "kernel"]), get_thread_pool(threads)
    swap = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.addresses["swap"])
    tape = MarkedTape([(4, HEAVY, 0)])
    tape.slots[0, 0] = library.addresses["kernel"]
    before = swap(odd)
    run_tape(pool, tape)
    after = swap(before)
    assert after & ~flags == odd
    assert {mode & ~flags for mode in tape.marks[0].tolist()} - {0} == {0x1F80}


def run_python(code: str) -> str:
    """The output of a fresh interpreter, which must exit by itself with status 0."""
    head = "\n".join(
        (
            "import ctypes, os, sys, threading, time, warnings",
            "warnings.simplefilter('ignore', DeprecationWarning)  # of a fork with threads, which is the subject",
            "from compile.marked_tapes import MarkedTape, allow_long_units",
            "from sardonyx._src.runtime.limits.thread_pool import PROCESS, get_thread_pool",
            "def run(pool, tape):",
            "    block = allow_long_units()",
            "    pool.run(tape.address, 0, len(tape), pool.scratch(64), block.ctypes.data)",
            "    assert all(done == {1} for done in tape.execution_counts()), tape.execution_counts()",
            "heavy = [(64, 10**6, 100)] * 20",
        )
    )
    process = subprocess.run(
        [sys.executable, "-c", f"{head}\n{code}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


def test_an_interpreter_ends_with_workers_asleep() -> None:
    assert run_python("run(get_thread_pool(4), MarkedTape(heavy)); print('end')") == "end"


def test_an_interpreter_ends_while_a_daemon_thread_runs() -> None:
    code = """
def on():
    pool, tape, block = get_thread_pool(4), MarkedTape([(64, 10**6, 2000)] * 100), allow_long_units()
    while True:
        pool.run(tape.address, 0, len(tape), pool.scratch(64), block.ctypes.data)
threading.Thread(target=on, daemon=True).start()
time.sleep(0.3)
print('end')
"""
    assert run_python(code) == "end"


def test_a_forked_child_has_workers_of_its_own() -> None:
    code = """
pool = get_thread_pool(4)
run(pool, MarkedTape(heavy))
for _ in range(5):
    child = os.fork()
    if child == 0:
        assert PROCESS.workers is None
        run(pool, MarkedTape(heavy))
        assert len(PROCESS.workers.threads) == 3
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    run(pool, MarkedTape(heavy))
print('end')
"""
    assert run_python(code) == "end"


def test_a_fork_in_the_middle_of_another_threads_run_leaves_both_sound() -> None:
    code = """
pool, over = get_thread_pool(3), False
run(pool, MarkedTape(heavy))  # compile before the fork
def on():
    while not over:
        run(pool, MarkedTape(heavy))
thread = threading.Thread(target=on)
thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        run(pool, MarkedTape(heavy))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
over = True
thread.join()
print('end')
"""
    assert run_python(code) == "end"


def test_a_pool_works_with_fewer_threads_if_the_system_refuses_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Existing workers go on; a refused start is not repeated."""
    active = workers(2)
    started: list[int] = []

    def refuse(_: object, index: int) -> int:
        started.append(index)
        return errno.EAGAIN

    monkeypatch.setattr(type(active), "start", refuse)
    count = len(active.threads)
    tape = MarkedTape([(64, HEAVY, 0)] * 3)
    run_tape(get_thread_pool(count + 5), tape)
    run_tape(get_thread_pool(count + 5), tape)
    assert started == [count + 1]
    assert tape.execution_counts() == [{2}] * 3
    active.max_workers = 255


@pytest.mark.skipif(
    sys.platform != "linux" or available_cpus() < 2, reason="there is no other processor for a worker"
)
def test_a_worker_is_kept_away_from_its_callers_processor() -> None:
    """On the caller's processor, worker and caller would wait for each other."""
    code = """
from sardonyx._src.compile.executor.pool_layout import CALLER_CPU
allowed, pool, others = os.sched_getaffinity(0), get_thread_pool(2), set(os.listdir('/proc/self/task'))
run(pool, MarkedTape(heavy))
worker, = map(int, set(os.listdir('/proc/self/task')) - others)
began_on = set()
for processor in sorted(allowed)[:2] * 2:
    os.sched_setaffinity(0, {processor})
    os.sched_setaffinity(0, allowed)  # where it is now, unless the system moves it
    run(pool, MarkedTape(heavy))
    caller = ctypes.c_int64.from_address(pool.address + CALLER_CPU * 8).value
    began_on.add(caller)
    assert os.sched_getaffinity(worker) == allowed - {caller}
os.sched_setaffinity(0, {min(allowed)})  # a caller that may be nowhere else leaves the worker where it is
run(pool, MarkedTape(heavy))
print(len(began_on), os.sched_getaffinity(worker) <= allowed)
"""
    assert run_python(code) in ("1 True", "2 True")

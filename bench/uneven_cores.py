"""Does a slow core delay a run on two threads by more than its share?

    python bench/uneven_cores.py [--rounds 15] [--rows 512] [--features 1024]

The first table has a kernel whose units take longer on the worker of the thread pool than on the caller: the time of both beside
the ideal, that of both speeds together.

The second has a network of three products, with the caller on one core and the worker on another, which other processes load.
The speed of a core is that of runs on it alone, under the same load.  A load takes turns with the worker, in slices of some
milliseconds: a chunk that the worker has claimed waits for the next slice, which no order of chunks avoids.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

import sardonyx as sx
from measure import machine
from sardonyx._src.compile.codegen import I64, LLVMType, MemoryLocation, Parameters
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.executor import status
from sardonyx._src.compile.executor.pool_layout import RECORD_SLOTS
from sardonyx._src.compile.llvm.jit import Library, host_target, load
from sardonyx._src.runtime.limits.thread_pool import get_thread_pool

LAYERS, RUNS = 3, 5  # RUNS in a round
PERCENTS = (100, 150, 185, 195, 220, 300)  # of the caller's time for a unit
UNITS, ITERATIONS, UNIT_NS = (64, 256, 1024), 5000, 4000
DOUBLE = LLVMType("double")
BUSY = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
LOADS: dict[str, Callable[[int], None] | None] = {
    "no load": None,
    "SCHED_IDLE": lambda pid: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
    "nice 10": lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 10),
    "nice 0": lambda pid: None,
}


# --- a slow worker ---------------------------------------------------------------------------


def slow_worker_kernel() -> Library:
    """`kernel`: multiplies as often as its arguments say for each unit, for the thread with a given scratch memory, and others."""
    b = KernelBuilder(host_target(), Parameters("caller", "iterations", "of_others"))
    caller, iterations, of_others = b.integers("caller", "iterations", "of_others")
    is_caller = b.emit(I64, f"ptrtoint ptr {b.scratch} to i64").eq(caller)
    count, product = b.select(is_caller, iterations, of_others), b.new_slot("product", DOUBLE)
    with b.loop(b.first_unit, b.end_unit):
        b.store(product, b.constant(1.0, DOUBLE))
        with b.loop(b.constant(0, I64), count):
            b.store(product, b.load(product) * 1.0000001)
        with b.if_then(b.load(product) < 0.5):  # never; keeps the products
            b.store(MemoryLocation(b.scratch, DOUBLE), b.load(product))
    return load(b.build_module("kernel"), ["kernel"])


def pool_seconds(kernel: Library, threads: int, units: int, percent: int) -> float:
    """The time of one record on a number of threads."""
    pool = get_thread_pool(threads)
    scratch = pool.scratch(64)
    args = np.array([scratch.address, ITERATIONS, ITERATIONS * percent // 100], np.int64)
    tape, block = np.zeros((1, RECORD_SLOTS), np.int64), np.zeros(status.STATUS_SLOTS, np.int64)
    tape[0, :4] = kernel.addresses["kernel"], args.ctypes.data, units, units * UNIT_NS
    block[status.LONG_UNITS] = status.ALLOWED
    start = time.perf_counter()
    pool.run(tape.ctypes.data, 0, 1, scratch, block.ctypes.data)
    return time.perf_counter() - start


def print_slow_workers(rounds: int) -> None:
    kernel = slow_worker_kernel()
    print("time / ideal, by the percents of the caller's time that the worker takes for a unit")
    print("units ", *(f"{percent:>6}" for percent in PERCENTS))
    for units in UNITS:
        single = min(pool_seconds(kernel, 1, units, 100) for _ in range(rounds))
        times = [
            statistics.median(pool_seconds(kernel, 2, units, p) for _ in range(rounds)) for p in PERCENTS
        ]
        ratios = (time * (1 + 100 / percent) / single for time, percent in zip(times, PERCENTS, strict=True))
        print(f"{units:<6}", *(f"{ratio:6.2f}" for ratio in ratios))


# --- a loaded core ---------------------------------------------------------------------------


def network(features: int) -> sx.ir.Model:
    b, draw = sx.Builder(opset=21), np.random.default_rng(0)
    x = b.input("x", "float32", ["N", features])
    for _ in range(LAYERS):
        x = b.Relu(b.MatMul(x, draw.normal(0, features**-0.5, (features, features)).astype(np.float32)))
    return b.model(y=x)


def threads() -> set[int]:
    return {int(name) for name in os.listdir("/proc/self/task")}


@contextmanager
def loaded(core: int, settle: Callable[[int], None] | None) -> Iterator[None]:
    """A process that computes on a core for the duration of the block."""
    if settle is None:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", BUSY, str(core)])
    try:
        settle(process.pid)
        time.sleep(0.3)
        yield
    finally:
        process.kill()
        process.wait()


def seconds(session: sx.Session, feeds: dict[str, np.ndarray], core: int) -> float:
    """The time of a run whose caller is on a core."""
    os.sched_setaffinity(0, {core})
    start = time.perf_counter()
    for _ in range(RUNS):
        session.run(feeds)
    return (time.perf_counter() - start) / RUNS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--features", type=int, default=1024)
    options = parser.parse_args()
    free, slow = sorted(os.sched_getaffinity(0))[:2]
    feeds = {"x": np.random.default_rng(1).normal(size=(options.rows, options.features)).astype(np.float32)}
    single = sx.Session(network(options.features), threads=1, engine="native")
    single.run(feeds)
    before = threads()
    double = sx.Session(network(options.features), threads=2, engine="native")
    double.run(feeds)
    for worker in threads() - before:
        os.sched_setaffinity(worker, {slow})
    print(machine())
    print_slow_workers(options.rounds)
    for name, settle in LOADS.items():
        ratios, gains, speeds = [], [], []
        with loaded(slow, settle):
            for _ in range(options.rounds):
                alone, on_slow = (seconds(single, feeds, core) for core in (free, slow))
                both = seconds(double, feeds, free)
                ratios.append(both * (1 / alone + 1 / on_slow))
                gains.append(alone / both)
                speeds.append(alone / on_slow)
        speed, ratio, gain = map(statistics.median, (speeds, ratios, gains))
        print(
            f"{name:12} speed of the other core {speed:.2f}  time / ideal {ratio:.2f}  faster than one core {gain:.2f}"
        )


if __name__ == "__main__":
    main()

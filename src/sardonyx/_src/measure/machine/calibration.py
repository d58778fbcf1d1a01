"""Measures what this machine reaches: rates of products and of reads, and the costs of a call, a barrier and subnormals.

All of it takes less than 300 ms once the kernels are compiled, unless other processes take the processors; rates are then
lower, too, although each is the best of some rounds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Barrier, Thread

import numpy as np

from sardonyx._src.compile.executor import status
from sardonyx._src.compile.executor.pool_layout import ARGS, KERNEL, RECORD_SLOTS, UNITS, WEIGHT
from sardonyx._src.compile.kernels.peak_products import peak_products
from sardonyx._src.compile.kernels.tuning import peak
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.llvm.loaded_kernels import kernel_address
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.runtime.limits.cpus import available_cpus
from sardonyx._src.runtime.limits.free_memory import free_memory
from sardonyx._src.runtime.limits.thread_pool import get_thread_pool
from sardonyx._src.runtime.limits.topology import Topology
from sardonyx._src.runtime.runs.profile import kernel_call, minimum_seconds, time_kernel
from sardonyx._src.threads import start_thread

PRODUCT_UNITS = 4_000  # units of work of a call that multiplies
SCAN_SECONDS = 1.5e-3  # of a call that reads a cache
SCAN_ROUNDS = 3
SCAN_BUDGET = 0.1  # seconds after which reads have one round: other processes take the processors
BARRIER_RECORDS, BARRIER_ROUNDS = 64, 20
BARRIER_UNITS = 300  # of work of each thread in a step: a microsecond, in which all threads can begin
RECORD_WEIGHT = 10_000  # ns that the pool is led to expect of a record, so that it divides it among threads
CALL_ROUNDS = 100
ASSUMED_CACHES = {1: 32 << 10, 2: 256 << 10}  # bytes, where the system states none
MIN_MEMORY_SCAN, MAX_MEMORY_SCAN = 32 << 20, 256 << 20  # bytes that are read from memory
MEMORY_SHARE = 8  # divisor of the free memory that may be read
SUBNORMAL = 1e-40
MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class ReadRate:
    """The rates at which memory of one size is read, in bytes per second: by one thread, and by all at a time.

    level: "L1", "L2", "L3" or "memory".  bytes: what each thread reads again and again.
    """

    level: str
    bytes: int
    single: float
    all: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a machine reached.

    time: when it was measured, in seconds since 1970; duration: the seconds that it took.
    threads: of "all" rates and of the barrier.
    products: operations per second of one thread, by kind of product; a multiply-add is two.
    reads: rates by level.
    call: seconds of a call of native code that does nothing.
    barrier: seconds in which all threads begin and end a step together; 0 for one thread.
    subnormals: how many times as long a product of subnormal numbers takes as one of others.
    """

    time: float
    duration: float
    threads: int
    products: Mapping[str, float]
    reads: Sequence[ReadRate]
    call: float
    barrier: float
    subnormals: float


def calibrate(topology: Topology) -> Calibration:
    """Measures this machine.  Raises what compiling and loading a kernel raises."""
    threads = available_cpus()
    kernels = (peak.READ_KERNEL, peak.SCALE_KERNEL, *(p.kernel for p in peak_products(host_target())))
    for kernel in kernels:  # compiles them
        kernel_address(kernel)
    started, begin = time.time(), time.perf_counter()
    products = measure_products()
    reads = []
    for level, size in scanned_levels(topology, threads):
        is_late = time.perf_counter() - begin > SCAN_BUDGET
        reads.append(measure_reads(level, size, threads, 1 if is_late else SCAN_ROUNDS))
    call, barrier, subnormals = measure_call(), measure_barrier(threads), measure_subnormals()
    duration = time.perf_counter() - begin
    return Calibration(started, duration, threads, products, reads, call, barrier, subnormals)


def find_native_failure() -> str:
    """Why native code cannot be compiled, loaded or run here, or computes a wrong sum; "" if it works."""
    try:
        array = np.arange(2 * peak.READ_VECTORS * host_target().lanes, dtype=np.float32)
        total = np.zeros(host_target().lanes, np.float32)
        kernel_call(peak.READ_KERNEL, 1, array.ctypes.data, array.size, total.ctypes.data)()
    except Exception as error:  # noqa: BLE001  # whatever it is, native code does not work here
        return f"{type(error).__name__}: {error}"
    return "" if total.sum() == array.sum() else "a kernel computes a wrong sum"


def measure_products() -> dict[str, float]:
    """The operations per second of each kind of product on one thread."""
    memory = np.zeros(64, np.float32)
    return {
        product.name: product.operations
        * PRODUCT_UNITS
        / time_kernel(product.kernel, PRODUCT_UNITS, memory.ctypes.data)
        for product in peak_products(host_target())
    }


# --- reads -----------------------------------------------------------------------------------


def scanned_levels(topology: Topology, threads: int, free: int | None = None) -> list[tuple[str, int]]:
    """The levels of memory, and the bytes that a thread reads of each, all threads together.

    free: the bytes that this process may still use; by default what the system says.  Memory is left out if the part of it
    that may be read fits in the last cache.
    """
    caches = {level: topology.cache_bytes(level) or ASSUMED_CACHES.get(level, 0) for level in (1, 2, 3)}
    levels = [(f"L{level}", caches[level] // 2) for level in (1, 2) if caches[level]]
    shared = max((cache.shared_by for cache in topology.caches if cache.level == 3), default=1)
    part = min(caches[3] // 2 // min(shared, threads), max(4 * caches[2], caches[3] // 8))
    if part > caches[2]:
        levels.append(("L3", part))
    available = (free_memory() if free is None else free) // MEMORY_SHARE
    total = min(max(2 * caches[3], MIN_MEMORY_SCAN), MAX_MEMORY_SCAN, available)
    return [*levels, (MEMORY, total // threads)] if total > caches[3] else levels


def measure_reads(level: str, size: int, threads: int, rounds: int) -> ReadRate:
    """The rates of reads of `size` bytes by one thread and by all; one thread reads the memory of all if it is no cache."""
    step = 4 * host_target().lanes * peak.READ_VECTORS
    size = max(size // step, 1) * step
    whole = np.ones(threads * size // 4, np.float32)
    parts = np.split(whole, threads)
    single = read_rate([whole if level == MEMORY else parts[0]], rounds)
    return ReadRate(level, size, single, read_rate(parts, rounds) if threads > 1 else single)


def read_rate(parts: Sequence[Array], rounds: int) -> float:
    """The bytes per second at which threads, one for each array, read their arrays: the best of some rounds."""
    passes = math.ceil(SCAN_SECONDS / max(minimum_seconds(scan_call(parts[0], 1), 2), 1e-9))
    calls = [scan_call(part, passes) for part in parts]
    return passes * sum(part.nbytes for part in parts) / run_together(calls, rounds)


def scan_call(array: Array, passes: int) -> Callable[[], object]:
    """A function that reads an array a number of times."""
    total = np.zeros(host_target().lanes, np.float32)
    call = kernel_call(peak.READ_KERNEL, passes, array.ctypes.data, array.size, total.ctypes.data)

    def scan(_owners: object = (array, total)) -> object:
        return call()

    return scan


def run_together(calls: Sequence[Callable[[], object]], rounds: int) -> float:
    """The minimum seconds in which threads, one for each function, call it at the same time."""
    barrier, spans = Barrier(len(calls)), np.zeros((rounds, 2, len(calls)))

    def run(index: int) -> None:
        for span in spans:
            barrier.wait()
            span[0, index] = time.perf_counter()
            calls[index]()
            span[1, index] = time.perf_counter()

    threads = [Thread(target=run, args=(i,), daemon=True) for i in range(1, len(calls))]
    for thread in threads:
        start_thread(thread)
    run(0)
    for thread in threads:
        thread.join()
    return float((spans[:, 1].max(axis=1) - spans[:, 0].min(axis=1)).min())


# --- costs -----------------------------------------------------------------------------------


def measure_call() -> float:
    """The seconds of a call of the run loop that executes no record."""
    tape, block, pool = (
        np.zeros(RECORD_SLOTS, np.int64),
        np.zeros(status.STATUS_SLOTS, np.int64),
        get_thread_pool(1),
    )
    scratch, addresses = pool.scratch(0), (tape.ctypes.data, block.ctypes.data)
    return minimum_seconds(lambda: pool.run(addresses[0], 0, 0, scratch, addresses[1]), CALL_ROUNDS)


def measure_barrier(threads: int) -> float:
    """The seconds by which a step takes longer on all threads than an equal share of it on one; 0 for one thread."""
    return max(time_step(threads, threads) - time_step(1, 1), 0.0) if threads > 1 else 0.0


def time_step(threads: int, shares: int) -> float:
    """The seconds of a step of a number of shares of work, in the fastest of some runs."""
    total, block = np.zeros(64, np.float32), np.zeros(status.STATUS_SLOTS, np.int64)
    arguments = np.array([total.ctypes.data], np.int64)
    tape = np.zeros((BARRIER_RECORDS, RECORD_SLOTS), np.int64)
    tape[:, KERNEL], tape[:, ARGS] = kernel_address(peak.FMA_KERNEL), arguments.ctypes.data
    tape[:, UNITS], tape[:, WEIGHT] = shares * BARRIER_UNITS, RECORD_WEIGHT
    pool = get_thread_pool(threads)
    scratch, addresses = pool.scratch(0), (tape.ctypes.data, block.ctypes.data)
    call = partial(pool.run, addresses[0], 0, BARRIER_RECORDS, scratch, addresses[1])
    return minimum_seconds(call, BARRIER_ROUNDS) / BARRIER_RECORDS


def measure_subnormals() -> float:
    """How many times as long products of subnormal numbers take as those of others."""
    lanes = host_target().lanes

    def seconds(number: float) -> float:
        values = np.repeat(np.array([number, 1], np.float32), lanes)
        return time_kernel(peak.SCALE_KERNEL, PRODUCT_UNITS, values.ctypes.data)

    return seconds(SUBNORMAL) / seconds(1.0)

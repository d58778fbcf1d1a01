"""Measures the duration of each action of a program, and the peak rates of the processor."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from sardonyx._src.compile.executor import status
from sardonyx._src.compile.executor.pool_layout import RECORD_SLOTS
from sardonyx._src.compile.kernels.tuning import peak
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.llvm.loaded_kernels import kernel_address
from sardonyx._src.compile.program import Kernel, Step
from sardonyx._src.compile.program.steps.program import Action
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.interp.run_state import Frame, RandomSource, RunState
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir.dims import evaluate
from sardonyx._src.ops.run_values import RunLimits, RuntimeValue
from sardonyx._src.runtime.limits.run_limits import Bailout
from sardonyx._src.runtime.limits.thread_pool import get_thread_pool
from sardonyx._src.runtime.runs.execution_context import ExecutionContext
from sardonyx._src.runtime.runs.native_program import NativeProgram
from sardonyx._src.runtime.runs.stepwise_context import StepwiseContext

MIN_RUNS, MAX_RUNS = 6, 400  # number of runs of a profile; every second run is timed action by action
TIME_BUDGET = 1.0  # seconds after which a profile ends, unless it has fewer than MIN_RUNS runs
PEAK_ROUNDS = 15  # calls of a peak kernel, of which the fastest counts
MULTIPLY_UNITS = 20_000  # units of work of one call of the multiplication kernel
COPY_BYTES = 32 << 20  # more than the caches of a core hold


@dataclass(frozen=True, slots=True)
class TimedAction:
    """The duration and the work of an action in one run, summed over all iterations of a loop.

    flops: floating-point operations.
    traffic: bytes read and written.
    """

    action: Action
    seconds: float
    flops: int
    traffic: int


@dataclass(frozen=True, slots=True)
class MachinePeak:
    """Peak rates of one thread, per second.

    flops: floating-point operations.
    traffic: bytes read and written by a copy.
    reads: bytes read.
    """

    flops: float
    traffic: float
    reads: float


class TimedContext(StepwiseContext):
    """An execution context that times runs: whole ones, or each action if `is_split`.

    run_seconds: the duration of each whole run.
    samples: for each action, its duration in each split run.
    visits: how often the last split run executed each action.
    """

    def __init__(self, native: NativeProgram) -> None:
        super().__init__(native)
        self.is_split = False
        self.run_seconds: list[float] = []
        self.samples: list[list[float]] = [[] for _ in native.program.actions]
        self.visits = [0] * len(self.samples)

    def execute(self, frame: Frame) -> None:
        if not self.is_split:
            self.run_seconds.append(measure_seconds(partial(ExecutionContext.execute, self, frame)))
            return
        count, action, spent = len(self.samples), 0, [0.0] * len(self.samples)
        self.visits = [0] * count
        while action < count:
            index, start = action, time.perf_counter()
            action = self.run_action(index, frame)
            spent[index] += time.perf_counter() - start
            self.visits[index] += 1
        for samples, seconds in zip(self.samples, spent, strict=True):
            samples.append(seconds)

    def overhead(self) -> float:
        """Seconds of a call of the run loop that executes no record."""
        return minimum_seconds(lambda: self.call_tape(0, 0), 100)


def profile_program(
    native: NativeProgram, feeds: Mapping[str, RuntimeValue], advance: Callable[[], None] = lambda: None
) -> tuple[list[TimedAction], float]:
    """The actions in order with their median seconds, and the median seconds of whole runs.

    Neither the first whole run nor the first split run counts.
    advance: called after every run.
    Raises EvaluationError for feeds that fail a guard.
    """
    context, random_source = TimedContext(native), RandomSource(0)
    end, runs = time.perf_counter() + TIME_BUDGET, 0
    while runs < MIN_RUNS or (runs < MAX_RUNS and time.perf_counter() < end):
        context.is_split = runs % 2 == 1
        try:
            with np.errstate(all="ignore"), limit_nesting():
                context.run(feeds, RunState(RunLimits(), random_source))
        except Bailout as bailout:
            native.counters.record_bailout(bailout.guard, "the profile ends")
            raise EvaluationError(f"the feeds must not fail a guard; got: {bailout.guard}") from None
        runs += 1
        advance()
    spent = context.overhead()
    measured = zip(native.program.actions, context.samples, context.visits, strict=True)
    timed = [summarize_action(context, *entry, spent) for entry in measured]
    return timed, statistics.median(context.run_seconds[1:])


def summarize_action(
    context: ExecutionContext, action: Action, samples: list[float], visits: int, overhead: float
) -> TimedAction:
    """The median duration and the work of an action that a run performs `visits` times."""
    seconds = max(statistics.median(samples[1:]) - overhead * visits, 0.0)
    if not isinstance(action, Step):
        return TimedAction(action, seconds, 0, 0)
    work = (evaluate(dim, context.memory.sizes) or 0 for dim in (action.flops, action.bytes_accessed))
    return TimedAction(action, seconds, *(amount * visits for amount in work))


# --- the machine -----------------------------------------------------------------------------


def measure_peaks(read_bytes: int = COPY_BYTES) -> MachinePeak:
    """Measures the peak rates of one thread: operations on registers, and copies and reads larger than its caches.

    read_bytes: bytes of the array that is read.  The last-level cache of a server may hold more than COPY_BYTES.  To measure
        the rate of memory, pass as many bytes as the program reads.
    """
    lanes = host_target().lanes
    sums = np.zeros(lanes, np.float32)
    seconds = time_kernel(peak.FMA_KERNEL, MULTIPLY_UNITS, sums.ctypes.data)
    flops = 2 * lanes * peak.NUM_ACCUMULATORS * MULTIPLY_UNITS / seconds
    source, destination = np.ones(COPY_BYTES // 4, np.float32), np.zeros(COPY_BYTES // 4, np.float32)
    units = COPY_BYTES // (4 * lanes * peak.VECTORS_PER_UNIT)
    seconds = time_kernel(peak.COPY_KERNEL, units, source.ctypes.data, destination.ctypes.data)
    constants = source if read_bytes <= COPY_BYTES else np.ones(read_bytes // 4, np.float32)
    elements = constants.size // (lanes * peak.READ_VECTORS) * lanes * peak.READ_VECTORS
    reading = time_kernel(peak.READ_KERNEL, 1, constants.ctypes.data, elements, sums.ctypes.data)
    return MachinePeak(flops, 2 * COPY_BYTES / seconds, 4 * elements / reading)


def time_kernel(kernel: Kernel, units: int, *args: int) -> float:
    """The minimum seconds of a kernel call in this thread."""
    return minimum_seconds(kernel_call(kernel, units, *args), PEAK_ROUNDS)


def kernel_call(kernel: Kernel, units: int, *args: int) -> Callable[[], object]:
    """A function that calls a kernel in the calling thread; not for several threads at a time."""
    slots = np.array([0] * RECORD_SLOTS + list(args), np.int64)
    slots[:3] = kernel_address(kernel), slots.ctypes.data + RECORD_SLOTS * slots.itemsize, units
    pool = get_thread_pool(1)
    scratch, block = pool.scratch(0), np.zeros(status.STATUS_SLOTS, np.int64)
    tape, address = slots.ctypes.data, block.ctypes.data

    def call(_owners: object = (slots, block)) -> object:
        return pool.run(tape, 0, 1, scratch, address)

    return call


def minimum_seconds(call: Callable[[], object], rounds: int) -> float:
    return min(measure_seconds(call) for _ in range(rounds))


def measure_seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start

"""How long each action of a program takes, and what the processor could do at most."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from sardonyx._src.compile import peak
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.llvm.kernels import address
from sardonyx._src.compile.pool_words import RECORD
from sardonyx._src.compile.program import Action
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.errors import EvaluationError
from sardonyx._src.interp.steps import Frame, Run
from sardonyx._src.io.nesting import nesting_limited
from sardonyx._src.ops.api import RunLimits, RuntimeValue
from sardonyx._src.runtime.limits import Unfit
from sardonyx._src.runtime.native import Context, NativeProgram
from sardonyx._src.runtime.pool import shared

LEAST, MOST = 6, 400  # runs, half of them cut into actions
BUDGET = 1.0  # seconds after which the least are enough
PEAK_TURNS = 15
MULTIPLIED = 20_000  # units of a turn
COPIED = 32 << 20  # bytes, more than what a core has of the caches


@dataclass(frozen=True, slots=True)
class Timed:
    """An action, the seconds it takes, and its operations and bytes for the dims of the run; all turns of a loop together."""

    action: Action
    seconds: float
    flops: int
    traffic: int


@dataclass(frozen=True, slots=True)
class Peak:
    """What one thread does at most: floating-point operations, and bytes read and written, in a second."""

    flops: float
    traffic: float


class TimedContext(Context):
    """A context that looks at the clock: before and after a run, or where it is cut, each of its actions."""

    def __init__(self, native: NativeProgram) -> None:
        super().__init__(native)
        self.is_cut = False
        self.whole: list[float] = []
        self.samples: list[list[float]] = [[] for _ in native.program.actions]
        self.times = [0] * len(self.samples)  # that the last run came to each action

    def execute(self, frame: Frame) -> None:
        if not self.is_cut:
            self.whole.append(seconds_of(partial(super().execute, frame)))
            return
        count, at, spent = len(self.samples), 0, [0.0] * len(self.samples)
        self.times = [0] * count
        while at < count:
            index, start = at, time.perf_counter()
            at = self.one(index, frame)
            spent[index] += time.perf_counter() - start
            self.times[index] += 1
        for samples, seconds in zip(self.samples, spent, strict=True):
            samples.append(seconds)

    def one(self, index: int, frame: Frame) -> int:
        """Runs one action; answers which comes next."""
        reached = self.native.pool.run(self.words.ctypes.data, index, index + 1, self.scratch)
        action = self.native.program.actions[index]
        if isinstance(action, Step):
            return reached
        self.act(action, frame)
        return index + 1

    def overhead(self) -> float:
        """Seconds of a run of nothing."""
        pool, tape = self.native.pool, self.words.ctypes.data
        return least(lambda: pool.run(tape, 0, 0, self.scratch), 100)


def profiled(
    native: NativeProgram, feeds: Mapping[str, RuntimeValue], advance: Callable[[], None] = lambda: None
) -> tuple[list[Timed], float]:
    """The actions in order with their median seconds, and the median of runs in one piece.

    The first run of either kind does not count.  `advance` is called after every run.  Raises EvaluationError for
    feeds that the program is not for.
    """
    context, rng = TimedContext(native), np.random.default_rng(0)
    end, runs = time.perf_counter() + BUDGET, 0
    while runs < LEAST or (runs < MOST and time.perf_counter() < end):
        context.is_cut = runs % 2 == 1
        try:
            with np.errstate(all="ignore"), nesting_limited():
                context.run(feeds, Run(RunLimits(), rng))
        except Unfit:
            raise EvaluationError("the feeds are beyond what the compiled program is for") from None
        runs += 1
        advance()
    spent = context.overhead()
    found = zip(native.program.actions, context.samples, context.times, strict=True)
    timed = [timed_action(context, action, samples, times, spent) for action, samples, times in found]
    return timed, statistics.median(context.whole[1:])


def timed_action(
    context: Context, action: Action, samples: list[float], times: int, overhead: float
) -> Timed:
    """What `times` runs of an action take."""
    seconds = max(statistics.median(samples[1:]) - overhead * times, 0.0)
    if not isinstance(action, Step):
        return Timed(action, seconds, 0, 0)
    return Timed(action, seconds, *(context.number(one) * times for one in (action.flops, action.traffic)))


# --- the machine -----------------------------------------------------------------------------


def peaks() -> Peak:
    """What one thread of this machine does at most, measured now: within the caches for operations, beyond for bytes."""
    lanes = host().lanes
    sums = np.zeros(lanes, np.float32)
    seconds = turn(peak.MULTIPLY, MULTIPLIED, sums.ctypes.data)
    flops = 2 * lanes * peak.CHAINS * MULTIPLIED / seconds
    source, destination = np.ones(COPIED // 4, np.float32), np.zeros(COPIED // 4, np.float32)
    units = COPIED // (4 * lanes * peak.STREAMS)
    seconds = turn(peak.COPY, units, source.ctypes.data, destination.ctypes.data)
    return Peak(flops, 2 * COPIED / seconds)


def turn(kernel: Kernel, units: int, *args: int) -> float:
    """The least seconds of some turns of a kernel in this thread."""
    words = np.array([0] * RECORD + list(args), np.int64)
    words[:3] = address(kernel), words.ctypes.data + RECORD * words.itemsize, units
    pool = shared(1)
    scratch = pool.scratch(0)
    return least(lambda: pool.run(words.ctypes.data, 0, 1, scratch), PEAK_TURNS)


def least(call: Callable[[], object], turns: int) -> float:
    return min(seconds_of(call) for _ in range(turns))


def seconds_of(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start

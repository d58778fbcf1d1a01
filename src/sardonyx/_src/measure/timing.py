"""Latency of engines on one model, measured in one process with interleaved calls."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.dataclass import dataclass
from sardonyx._src.measure.engines import Feeds, Run, open_engine
from sardonyx._src.ops.api import RuntimeValue

# A burst is a series of calls of one engine, before the next engine has its burst.
BURST_SECONDS = 0.01  # target duration of a burst, in seconds
MAX_BURST_CALLS = 200  # calls per burst
IDLE_POLL = 0.005  # seconds between two checks for spinning threads
MAX_IDLE_WAIT = 0.5  # seconds to wait for threads of other engines to stop spinning
LONG_CALL = 0.1  # seconds; for longer calls the state left by another engine is negligible

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class EngineTiming:
    """Run times of one engine in seconds, and the difference of its outputs from those of the first engine.

    difference: relative to the largest output of the first engine; NaN if shapes or types differ.
    """

    engine: str
    threads: int
    runs: Sequence[float]
    difference: float

    @property
    def median(self) -> float:
        return self.quantile(0.5)

    @property
    def best(self) -> float:
        return min(self.runs)

    def quantile(self, share: float) -> float:
        return float(np.quantile(np.array(self.runs), share))


def measure_engines(
    path: str,
    engines: Sequence[str],
    threads: int,
    feeds: Feeds,
    rounds: int,
    advance: Callable[[], None] = lambda: None,
    clock: Clock = time.perf_counter,
    precision: Precision = EXACT,
) -> list[EngineTiming]:
    """The run times of each engine over `rounds` rounds; the outputs of the first engine are the reference.

    `advance` is called after every round, and once when all engines are loaded.  On a busy machine,
    `time.process_time` is the better `clock` for one thread.  precision: as for `open_engine`.
    """
    calls: dict[str, Callable[[], Sequence[RuntimeValue]]] = {}
    for engine in engines:
        calls[engine] = partial(collect_outputs, open_engine(engine, path, threads, precision), feeds)
    outputs = {engine: call() for engine, call in calls.items()}
    advance()
    samples = interleave_calls(calls, rounds, advance, clock)
    reference = outputs[engines[0]]
    return [
        EngineTiming(e, threads, samples[e], max_relative_difference(outputs[e], reference)) for e in engines
    ]


def collect_outputs(run: Run, feeds: Feeds) -> Sequence[RuntimeValue]:
    return list(run(feeds))


def interleave_calls(
    calls: Mapping[str, Callable[[], object]],
    rounds: int,
    advance: Callable[[], None],
    clock: Clock = time.perf_counter,
) -> dict[str, list[float]]:
    """The seconds of single calls, by engine.

    Each round has one burst of calls for each engine.  The first call of a burst is a warm-up after another engine, and
    counts only if it is the only call.
    """
    lengths = {engine: burst_size(call, clock) for engine, call in calls.items()}
    samples: dict[str, list[float]] = {engine: [] for engine in calls}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for engine, call in calls.items():
                wait_until_idle()
                times = [measure_call(call, clock) for _ in range(lengths[engine])]
                samples[engine] += times[1:] or times
            advance()
    finally:
        gc.enable()
    return samples


def wait_until_idle() -> None:
    """Waits until the process is idle: threads of some engines spin for a while after a call."""
    patient = time.perf_counter() + MAX_IDLE_WAIT
    while time.perf_counter() < patient:
        before = time.process_time()
        time.sleep(IDLE_POLL)
        if time.process_time() - before < IDLE_POLL / 10:
            return


def burst_size(call: Callable[[], object], clock: Clock) -> int:
    """The number of calls in a burst."""
    once = min(measure_call(call, clock) for _ in range(3))
    return 1 if once > LONG_CALL else max(2, min(MAX_BURST_CALLS, math.ceil(BURST_SECONDS / once)))


def measure_call(call: Callable[[], object], clock: Clock) -> float:
    start = clock()
    call()
    return clock() - start


def max_relative_difference(outputs: Sequence[RuntimeValue], reference: Sequence[RuntimeValue]) -> float:
    """The largest difference between two runs, relative to the largest value of the respective output.

    Infinite if only one has a NaN or an infinity at some index; NaN if shapes or types differ or are not numeric.
    """
    if len(outputs) != len(reference):
        return math.nan
    each = [relative_difference(a, b) for a, b in zip(outputs, reference, strict=True)]
    return float(np.max(each, initial=0.0))  # NaN if any is


def relative_difference(output: RuntimeValue, reference: RuntimeValue) -> float:
    if not isinstance(output, np.ndarray) or not isinstance(reference, np.ndarray):
        return math.nan
    if output.shape != reference.shape or output.dtype != reference.dtype or output.dtype.kind not in "biuf":
        return math.nan
    a, b = output.astype(np.float64), reference.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return math.inf
    largest = float(np.abs(b[finite]).max(initial=0.0))
    error = float(np.abs(a[finite] - b[finite]).max(initial=0.0))
    return error / largest if largest else (math.inf if error else 0.0)

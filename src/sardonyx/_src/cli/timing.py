"""How long engines take for one model: all of them in one process, in turn."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sardonyx._src.cli.peers import Feeds, Run, opened
from sardonyx._src.ops.api import RuntimeValue

BURST = 0.01  # seconds that an engine has in each turn, or two calls, or one that is long
MOST = 200  # calls of a burst
LOOK = 0.005  # seconds, in which threads that spin are seen to
REST = 0.5  # seconds at most before a burst, in which threads of other engines stop spinning
LONG = 0.1  # seconds of a call beside which what another engine has left is little

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Timed:
    """What one engine took on so many threads, in seconds, and how far its outputs are from the judge's."""

    engine: str
    threads: int
    runs: Sequence[float]
    difference: float  # relative to the judge's largest output; NaN where the two are of other shapes

    @property
    def median(self) -> float:
        return self.quantile(0.5)

    @property
    def best(self) -> float:
        return min(self.runs)

    def quantile(self, share: float) -> float:
        return float(np.quantile(np.array(self.runs), share))


def timed(
    path: str,
    engines: Sequence[str],
    threads: int,
    feeds: Feeds,
    turns: int,
    advance: Callable[[], None] = lambda: None,
    clock: Clock = time.perf_counter,
) -> list[Timed]:
    """Each engine's times over `turns` turns; the first engine is the judge of all outputs.

    `advance` is called after every turn, and once when the engines are ready.  On a machine that is busy with other
    things `time.process_time` is the better `clock` for one thread.
    """
    calls: dict[str, Callable[[], Sequence[RuntimeValue]]] = {}
    for engine in engines:
        calls[engine] = partial(listed, opened(engine, path, threads), feeds)
    outputs = {engine: call() for engine, call in calls.items()}
    advance()
    samples = in_turn(calls, turns, advance, clock)
    judge = outputs[engines[0]]
    return [Timed(e, threads, samples[e], distance(outputs[e], judge)) for e in engines]


def listed(run: Run, feeds: Feeds) -> Sequence[RuntimeValue]:
    return list(run(feeds))


def in_turn(
    calls: Mapping[str, Callable[[], object]],
    turns: int,
    advance: Callable[[], None],
    clock: Clock = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of single calls.  In a turn every engine has a burst of calls, of which the first finds caches and
    threads as another engine has left them, and counts only if it is long."""
    lengths = {engine: burst_of(call, clock) for engine, call in calls.items()}
    samples: dict[str, list[float]] = {engine: [] for engine in calls}
    gc.collect()
    gc.disable()
    try:
        for _ in range(turns):
            for engine, call in calls.items():
                settle()
                found = [seconds(call, clock) for _ in range(lengths[engine])]
                samples[engine] += found[1:] or found
            advance()
    finally:
        gc.enable()
    return samples


def settle() -> None:
    """Waits until no thread of this process works: engines may keep theirs spinning long after a call."""
    patient = time.perf_counter() + REST
    while time.perf_counter() < patient:
        before = time.process_time()
        time.sleep(LOOK)
        if time.process_time() - before < LOOK / 10:
            return


def burst_of(call: Callable[[], object], clock: Clock) -> int:
    """How many calls fill a burst."""
    once = min(seconds(call, clock) for _ in range(3))
    return 1 if once > LONG else max(2, min(MOST, math.ceil(BURST / once)))


def seconds(call: Callable[[], object], clock: Clock) -> float:
    start = clock()
    call()
    return clock() - start


def distance(found: Sequence[RuntimeValue], judge: Sequence[RuntimeValue]) -> float:
    """The largest difference of two runs' numbers, each relative to the largest number of its output.

    Infinite where only one has a NaN or an infinity; NaN where shapes or kinds differ, or are not numbers.
    """
    if len(found) != len(judge):
        return math.nan
    each = [one_distance(a, b) for a, b in zip(found, judge, strict=True)]
    return float(np.max(each, initial=0.0))  # which is NaN if one is


def one_distance(found: RuntimeValue, judge: RuntimeValue) -> float:
    if not isinstance(found, np.ndarray) or not isinstance(judge, np.ndarray):
        return math.nan
    if found.shape != judge.shape or found.dtype != judge.dtype or found.dtype.kind not in "biuf":
        return math.nan
    a, b = found.astype(np.float64), judge.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return math.inf
    largest = float(np.abs(b[finite]).max(initial=0.0))
    off = float(np.abs(a[finite] - b[finite]).max(initial=0.0))
    return off / largest if largest else (math.inf if off else 0.0)

"""Profiles: the time of each step of the native engine, as an object and as a Chrome trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sardonyx._src.arguments import require_integer
from sardonyx._src.compile.printing.steps import action_kind, action_name
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.compile.program.verification.defects import typed_defects
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.measure.feeds import complete_feeds
from sardonyx._src.measure.time_shares import TimeShare, by_kernel, by_step
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.programs.precision import require_precision
from sardonyx._src.runtime.programs.stats import SessionStats
from sardonyx._src.runtime.runs.profile import MachinePeak, TimedAction, measure_peaks, profile_program

SPECIALIZING_RUNS = 2  # runs after which a program is specialized for the branches and ranks that they had


@dataclass(frozen=True, repr=False)
class Profile:
    """The time of a run, by step and by kernel, slowest first.

    seconds: the duration of a whole run.
    actions: the steps with their times, in the order of the run.
    peak: the peak rates of this machine.
    stats: the statistics of the session.
    assumptions: the branches and ranks for which the program was specialized.
    """

    seconds: float
    actions: Sequence[TimedAction]
    peak: MachinePeak
    stats: SessionStats
    assumptions: str

    @property
    def steps(self) -> list[TimeShare]:
        return by_step(self.actions)

    @property
    def kernels(self) -> list[TimeShare]:
        return by_kernel(self.actions)

    def chrome_trace(self) -> dict[str, object]:
        """The steps one after another as a trace for chrome://tracing and Perfetto; times in microseconds."""
        events: list[dict[str, object]] = []
        start = 0.0
        for action in self.actions:
            duration = action.seconds * 1e6
            events.append(
                {
                    "name": action_name(action.action),
                    "cat": action_kind(action.action),
                    "ph": "X",
                    "ts": start,
                    "dur": duration,
                    "pid": 1,
                    "tid": 1,
                    "args": {"flops": action.flops, "bytes": action.traffic},
                }
            )
            start += duration
        return {"traceEvents": events, "displayTimeUnit": "ms"}

    def __str__(self) -> str:
        rows = [f"{row.seconds * 1e3:.3f} ms  {row.kernel}  {row.what}" for row in self.steps]
        return "\n".join([*rows, f"one run: {self.seconds * 1e3:.3f} ms"])

    def __repr__(self) -> str:
        return f"<Profile: {len(self.actions)} steps, {self.seconds * 1e3:.3f} ms>"


def profile(
    model: ModelSource,
    feeds: Mapping[str, object] | None = None,
    *,
    threads: int = 1,
    seed: int = 0,
    dims: Mapping[str, int] | None = None,
    precision: Precision = EXACT,
) -> Profile:
    """Measures each step of the native engine on these feeds; missing ones are random, with the lengths `dims`.

    precision: the precision of products, as for `Session`.

    Raises what a session with engine="native" raises.
    """
    require_integer("threads", threads, 1)
    resolved = resolve_model(model)
    values = complete_feeds(resolved, feeds, seed, dims)
    return profile_engine(open_native(resolved, threads, precision), values)


def open_native(model: ModelSource, threads: int, precision: Precision = EXACT) -> NativeEngine:
    """The native engine with the compiled model."""
    require_precision(precision)
    with typed_defects("compile"):
        resolved = without_gradient_nodes(resolve_model(model))
        return NativeEngine(resolved, threads=threads, precision=precision)


def profile_engine(engine: NativeEngine, feeds: Mapping[str, RuntimeValue]) -> Profile:
    """The profile of a compiled model, specialized for the branches and ranks of the feeds."""
    peak = measure_peaks()
    if engine.specialized is not None:
        for _ in range(SPECIALIZING_RUNS):
            engine.run(feeds)
    actions, seconds = profile_program(engine.natives[0], feeds)
    return Profile(seconds, actions, peak, engine.stats(), str(engine.assumptions or ""))

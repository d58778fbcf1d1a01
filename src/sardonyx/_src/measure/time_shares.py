"""Time per step and per kernel of a profiled program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sardonyx._src.compile.printing.steps import action_kind, action_name
from sardonyx._src.dataclass import dataclass
from sardonyx._src.measure.quantities import pluralize
from sardonyx._src.runtime.runs.profile import MachinePeak, TimedAction


@dataclass(frozen=True, slots=True)
class TimeShare:
    """Totals over one step, or over all steps of one kernel.

    what: the nodes of the step, or the number of steps.
    count: the number of steps.
    flops: the number of operations.
    traffic: bytes read and written.
    """

    kernel: str
    what: str
    count: int
    seconds: float
    flops: int
    traffic: int

    def rate(self, amount: int) -> float:
        """`amount` per second; 0 if the measured time is 0."""
        return amount / self.seconds if self.seconds else 0.0

    def as_json(self, peak: MachinePeak) -> dict[str, str | int | float]:
        return {
            "kernel": self.kernel,
            "nodes": self.what,
            "steps": self.count,
            "seconds": self.seconds,
            "flops": self.rate(self.flops),
            "flops_of_peak": self.rate(self.flops) / peak.flops,
            "bytes": self.rate(self.traffic),
            "bytes_of_peak": self.rate(self.traffic) / peak.traffic,
        }


def by_step(timed: Iterable[TimedAction]) -> list[TimeShare]:
    """Every step, slowest first."""
    return sort_by_time(
        TimeShare(
            action_kind(step.action), action_name(step.action), 1, step.seconds, step.flops, step.traffic
        )
        for step in timed
    )


def by_kernel(timed: Iterable[TimedAction]) -> list[TimeShare]:
    """Totals of each kernel, slowest first."""
    groups: dict[str, list[TimedAction]] = {}
    for step in timed:
        groups.setdefault(action_kind(step.action), []).append(step)
    return sort_by_time(sum_steps(kernel, steps) for kernel, steps in groups.items())


def sum_steps(kernel: str, steps: Sequence[TimedAction]) -> TimeShare:
    what = pluralize(len(steps), "step")
    seconds = sum(step.seconds for step in steps)
    flops, traffic = sum(step.flops for step in steps), sum(step.traffic for step in steps)
    return TimeShare(kernel, what, len(steps), seconds, flops, traffic)


def sort_by_time(shares: Iterable[TimeShare]) -> list[TimeShare]:
    return sorted(shares, key=lambda share: -share.seconds)

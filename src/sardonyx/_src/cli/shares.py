"""Shares in the time of a program: of its steps, and of its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sardonyx._src.cli.summary import Json
from sardonyx._src.compile.show import head, title
from sardonyx._src.runtime.profile import Peak, Timed


@dataclass(frozen=True, slots=True)
class Share:
    """What some steps of one kernel take together: seconds, operations, bytes read and written."""

    kernel: str
    what: str  # the nodes of the step, or how many steps
    count: int
    seconds: float
    flops: int
    traffic: int

    def rate(self, amount: int) -> float:
        """So much in each second; 0 where the clock saw none pass."""
        return amount / self.seconds if self.seconds else 0.0

    def as_json(self, peak: Peak) -> dict[str, Json]:
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


def by_step(timed: Iterable[Timed]) -> list[Share]:
    """Every step, the longest first."""
    return ordered(
        Share(head(one.action), title(one.action), 1, one.seconds, one.flops, one.traffic) for one in timed
    )


def by_kernel(timed: Iterable[Timed]) -> list[Share]:
    """The steps of each kernel together."""
    groups: dict[str, list[Timed]] = {}
    for one in timed:
        groups.setdefault(head(one.action), []).append(one)
    return ordered(together(kernel, found) for kernel, found in groups.items())


def together(kernel: str, found: Sequence[Timed]) -> Share:
    what = f"{len(found)} step{'s' * (len(found) != 1)}"
    seconds = sum(one.seconds for one in found)
    flops, traffic = sum(one.flops for one in found), sum(one.traffic for one in found)
    return Share(kernel, what, len(found), seconds, flops, traffic)


def ordered(shares: Iterable[Share]) -> list[Share]:
    return sorted(shares, key=lambda one: -one.seconds)

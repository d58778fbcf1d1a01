"""The memory that a run may use by default: a share of the limit of control groups, or of the machine's memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from sardonyx._src.ops.run_values import RunLimits
from sardonyx._src.runtime.limits.control_groups import ROOT, read_group_limits, read_words

# Numerator and denominator of the share of one run; the rest is for weights, feeds, and other work of the process.
RUN_SHARE = 3, 4
ASSUMED_MEMORY = 1 << 34  # bytes, if neither control groups nor the system state a number


def limits_of_process(limits: RunLimits) -> RunLimits:
    """The limits with a number for `run_bytes`."""
    return limits if limits.run_bytes is not None else replace(limits, run_bytes=default_run_bytes())


@cache
def default_run_bytes() -> int:
    """The share of the memory that one run may use, in bytes; determined once per process."""
    numerator, denominator = RUN_SHARE
    return usable_memory() * numerator // denominator


def usable_memory(root: Path = ROOT) -> int:
    """The memory that this process may use, in bytes: the least of its control groups' limits and the machine's memory."""
    return min((*group_limits(root), *machine_memory(root)), default=ASSUMED_MEMORY)


def group_limits(root: Path) -> Iterator[int]:
    """The limits of the groups of this process and of enclosing groups.

    A group without a limit yields nothing (version 2) or a huge number (version 1).
    """
    for words in read_group_limits("memory", ["memory.max"], ["memory.limit_in_bytes"], root):
        if len(words) == 1 and words[0].isdecimal():  # `max`: no limit
            yield int(words[0])


def machine_memory(root: Path) -> Iterator[int]:
    """The memory of a Linux machine in bytes; nothing on other systems."""
    words = read_words(root / "proc/meminfo")
    if words[:1] == ["MemTotal:"] and words[1].isdecimal():
        yield int(words[1]) * 1024

"""The number of processors that this process may use, by its affinity and the quotas of its control groups."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sardonyx._src.runtime.limits.control_groups import ROOT, read_group_limits
from sardonyx._src.threads import affinity_count


def available_cpus() -> int:
    """The number of threads that can run at the same time, at least 1."""
    count = affinity_count()
    limit = quota_of_process()
    return max(1, count if limit is None else min(count, limit))


@cache
def quota_of_process() -> int | None:
    """The quota at the time of the first call.  It is not read again, since reading is slower than opening a small program."""
    return cgroup_quota()


def cgroup_quota(root: Path = ROOT) -> int | None:
    """The quota of control groups in processors, rounded up; None without a quota."""
    return min(group_quotas(root), default=None)


def group_quotas(root: Path) -> Iterator[int]:
    """The quotas, in processors, of the groups of this process and of enclosing groups."""
    files = read_group_limits("cpu", ["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"], root)
    for words in files:
        if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]) > 0:
            yield max(1, -(-int(words[0]) // int(words[1])))  # `max` and -1: no quota

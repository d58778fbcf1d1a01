"""The number of processors that this process may use, by its affinity and the quotas of its control groups."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")


def available_cpus() -> int:
    """The number of threads that can run at the same time, at least 1."""
    count = affinity_count()
    limit = cgroup_quota()
    return max(1, count if limit is None else min(count, limit))


def affinity_count() -> int:
    """The processors that the calling thread may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cgroup_quota(root: Path = ROOT) -> int | None:
    """The quota of control groups in processors, rounded up; None without a quota."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None  # not Linux, or hidden
    limits = [limit for line in lines for limit in hierarchy_limits(line, root / "sys/fs/cgroup")]
    return min(limits, default=None)


def hierarchy_limits(line: str, mount: Path) -> Iterator[int]:
    """The quotas of one hierarchy, a line `number:controllers:path`: of the group and of its parents."""
    _, controllers, path = line.split(":", 2)
    names = ("cpu.max",) if not controllers else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    if controllers and "cpu" not in controllers.split(","):
        return
    parts = [part for part in path.split("/") if part not in ("", "..")]  # `..`: outside of the namespace
    for folder in mount_folders(mount, controllers):
        for depth in range(len(parts) + 1):
            words = [word for name in names for word in read_words(folder.joinpath(*parts[:depth], name))]
            if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]) > 0:
                yield max(1, -(-int(words[0]) // int(words[1])))  # `max` and -1: no quota


def mount_folders(mount: Path, controllers: str) -> list[Path]:
    """Where the hierarchy may be mounted; lines of version 2 name no controllers."""
    if not controllers:
        return [mount, mount / "unified"]
    return [mount / "cpu", mount / controllers] if controllers != "cpu" else [mount / "cpu"]


def read_words(path: Path) -> list[str]:
    """The words of a file; none if it cannot be read."""
    try:
        return path.read_text().split()
    except OSError:
        return []

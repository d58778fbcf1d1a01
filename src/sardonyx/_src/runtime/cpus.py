"""How many processors this process may use: its affinity, and the quotas of its control groups."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")


def available() -> int:
    """The number of threads that can run at once, at least 1: processors, or fewer where a quota says so."""
    count = processors()
    limit = quota()
    return max(1, count if limit is None else min(count, limit))


def processors() -> int:
    """The processors that the calling thread may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def quota(root: Path = ROOT) -> int | None:
    """The processors' worth of time that control groups grant, rounded up; None if they set no bound."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None  # not Linux, or hidden
    found = [limit for line in lines for limit in limits(line, root / "sys/fs/cgroup")]
    return min(found, default=None)


def limits(line: str, mount: Path) -> Iterator[int]:
    """The bounds of one hierarchy, `number:controllers:path`, for the group and for those that it lies in."""
    _, controllers, path = line.split(":", 2)
    names = ("cpu.max",) if not controllers else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    if controllers and "cpu" not in controllers.split(","):
        return
    parts = [part for part in path.split("/") if part not in ("", "..")]  # `..`: outside of what we see
    for folder in folders(mount, controllers):
        for depth in range(len(parts) + 1):
            words = [word for name in names for word in content(folder.joinpath(*parts[:depth], name))]
            if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]) > 0:
                yield max(1, -(-int(words[0]) // int(words[1])))  # `max` and -1 are no bound


def folders(mount: Path, controllers: str) -> list[Path]:
    """Where the hierarchy of some controllers may be mounted; version 2 has no controllers in its line."""
    if not controllers:
        return [mount, mount / "unified"]
    return [mount / "cpu", mount / controllers] if controllers != "cpu" else [mount / "cpu"]


def content(path: Path) -> list[str]:
    """The words of a file; none if it cannot be read."""
    try:
        return path.read_text().split()
    except OSError:
        return []

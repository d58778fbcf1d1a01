"""A thread's share of the caches, by which programs get their block sizes when they are opened.

Threads of a program are taken to be spread evenly over the caches of a level.  If a quota leaves this process fewer processors
than it may run on, other processes use the others, and with them their shares of the caches.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from sardonyx._src.compile.program.steps.cached_count import CachedCount, CacheName
from sardonyx._src.runtime.limits.control_groups import ROOT
from sardonyx._src.runtime.limits.cpus import quota_of_process
from sardonyx._src.runtime.limits.topology import CPUS, CacheLevel, caches_of
from sardonyx._src.threads import affinity_count

OWN_LEVEL = 2  # the last level that few cores share
ASSUMED_CACHES = (
    CacheLevel(2, 256 << 10, 64, 1),
    CacheLevel(3, 2 << 20, 64, 1),
)  # where the system states none


def count_in_cache(count: CachedCount, threads: int) -> int:
    """The number of a program that runs on some threads of this machine."""
    return count.in_bytes(cache_share(count.cache, threads))


@cache
def cache_share(name: CacheName, threads: int) -> int:
    """The bytes of a cache that a thread has if `threads` threads run, on the kind of cores with the least."""
    quota, cpus = quota_of_process(), affinity_count()
    has_neighbors = quota is not None and quota < cpus
    levels = (choose_level(name, caches_of_processor(cpu)) for cpu in outer_processors())
    return min(thread_share(level, threads, cpus, has_neighbors=has_neighbors) for level in levels)


def choose_level(name: CacheName, caches: Sequence[CacheLevel]) -> CacheLevel:
    """The cache of this name among those of a processor; an assumed one if none is known."""
    known = sorted(caches or ASSUMED_CACHES)
    own = [level for level in known if level.level <= OWN_LEVEL] or known
    return known[-1] if name == "last" else own[-1]


def thread_share(level: CacheLevel, threads: int, cpus: int, *, has_neighbors: bool) -> int:
    """The bytes of a cache that one of `threads` threads has, on some processors.

    has_neighbors: whether other processes use processors that share the cache.
    """
    caches = max(cpus // level.shared_by, 1)
    users = min(-(-threads // caches), level.shared_by)
    return level.bytes // (level.shared_by if has_neighbors else max(users, 1))


def outer_processors() -> tuple[int, ...]:
    """The first and the last processor that this process may use: hybrid processors number one kind of cores after the other."""
    with suppress(AttributeError, OSError):  # not Linux, or refused by a sandbox
        numbers = os.sched_getaffinity(0)
        return tuple(sorted({min(numbers), max(numbers)}))
    return (0,)


@cache
def caches_of_processor(cpu: int, root: Path = ROOT) -> tuple[CacheLevel, ...]:
    """The caches for data of a logical processor; none where the system does not say.  root: of the file system."""
    return tuple(caches_of(root / CPUS / f"cpu{cpu}"))

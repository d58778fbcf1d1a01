"""The memory that is free for this process now, and the number of compile workers that fit in a share of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sardonyx._src.runtime.limits.control_groups import ROOT, read_group_limits, read_words
from sardonyx._src.runtime.limits.memory_limits import ASSUMED_MEMORY

# The peak of a compile worker is 97 to 101 MB for the networks of the benchmarks, 79 MB of it LLVM's own file, which all
# workers share: the peak of one, and a reserve.
WORKER_BYTES = 128 << 20
WORKERS_SHARE = 2  # divisor of the free memory: the other half is for weights and their packed copies
UNIFIED = ("memory.max", "memory.current", "memory.stat")
LEGACY = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat")
# Pages of files that are given back before memory runs out.
RECLAIMABLE = ("inactive_file", "total_inactive_file")


def affordable_workers(root: Path = ROOT) -> int:
    """The number of compile workers that fit in their share of the free memory; at least 1, which frees what it used."""
    return max(1, free_memory(root) // WORKERS_SHARE // WORKER_BYTES)


def free_memory(root: Path = ROOT) -> int:
    """The bytes that this process can still use: the least that its control groups and the machine have left."""
    return min((*groups_free(root), *machine_free(root)), default=ASSUMED_MEMORY)


def groups_free(root: Path) -> Iterator[int]:
    """The bytes that are left in the groups of this process and in enclosing groups, as far as they have a limit."""
    for words in read_group_limits("memory", UNIFIED, LEGACY, root):
        if len(words) >= 2 and words[0].isdecimal() and words[1].isdecimal():
            yield max(0, int(words[0]) - int(words[1]) + reclaimable(words[2:]))


def reclaimable(statistics: Sequence[str]) -> int:
    """The bytes of pages that a group gives back if it needs memory.  statistics: names and numbers in turn."""
    numbers = dict(zip(statistics[::2], statistics[1::2], strict=False))
    return max((int(numbers[name]) for name in RECLAIMABLE if numbers.get(name, "").isdecimal()), default=0)


def machine_free(root: Path) -> Iterator[int]:
    """The available memory of a Linux machine in bytes; nothing on other systems."""
    words = read_words(root / "proc/meminfo")
    if "MemAvailable:" in words[:-1]:
        number = words[words.index("MemAvailable:") + 1]
        if number.isdecimal():
            yield int(number) * 1024

"""What analysis gives for the fields that `tuning.py` sweeps: registers, caches and latency, without any measurement.

Tiles and blocks follow Low, Igual, Smith and Quintana-Orti, Analytical Modeling Is Enough for High-Performance BLIS (2016):
a tile has as many accumulators as registers leave, so that loads are few and latencies are hidden; of a cache of W ways, one
is left to what streams, and the operand that is used again has the others.  Tiles are rows by whole vectors, so a panel is
about ten times as wide as a tile is high.  Such a panel has no way of the level-1 cache left beside it for rows of A, as the
paper's equation for k_c shows; so each operand has the cache one level further: the panel the level-2 cache, and the rows of
a chunk the level-3 cache.

A block that decides the order of a sum is one for all machines: the model then has the smallest level-2 cache of a processor
of the class.  Distances of prefetches are the bytes that a core reads in the latency of memory (Little's law).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm.jit import host_target

FLOAT = 4  # bytes
SMALLEST_L2 = {16: 512 << 10, 8: 256 << 10}  # bytes by lanes: Ice Lake with AVX-512, Skylake with AVX2
ASSUMED_WAYS = 8
ADDRESSES = 10  # of rows of A that general registers hold, besides those of the loop
MEMORY_LATENCY = 200e-9  # seconds, under load
MEMORY_RATE = 16e9  # bytes per second of one core
CACHE = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True)
class Cache:
    """A cache for data, as the share of one core: its bytes and ways."""

    bytes: int
    ways: int

    def rows(self, row_bytes: float, resident: float = 0) -> float:
        """The rows that it holds beside `resident` bytes that are used again, with one way for what streams."""
        way = self.bytes / self.ways
        return max(self.bytes - way * (1 + -(-resident // way)), 0) / row_bytes


@cache
def caches() -> dict[int, Cache]:
    """The caches of a core of this machine by level, as Linux describes them."""
    levels = {}
    for folder in CACHE.glob("index*"):
        level, kind, size, ways, shared = (
            (folder / name).read_text().strip()
            for name in ("level", "type", "size", "ways_of_associativity", "shared_cpu_list")
        )
        if kind != "Instruction":
            levels[int(level)] = Cache(
                (int(size.rstrip("K")) << 10) // count(shared), int(ways) or ASSUMED_WAYS
            )
    return levels


def count(cpus: str) -> int:
    """The length of a list such as `0-3,8`."""
    ranges = [part.split("-") for part in cpus.split(",")]
    return sum(int(ends[-1]) - int(ends[0]) + 1 for ends in ranges)


def tile_rows(vectors: int, target: Target | None = None) -> int:
    """The rows of a tile: registers for its accumulators, a row of the panel and an element of A."""
    target = target or host_target()
    return min((target.registers - vectors - 1) // vectors, ADDRESSES)


def block_terms(width: int) -> float:
    """k_c: the terms of a panel of `width` columns of which this one and the next fill half of the smallest level-2 cache."""
    return SMALLEST_L2.get(host_target().lanes, 256 << 10) / 2 / 2 / (width * FLOAT)


def chunk_rows(terms: int, width: int) -> float:
    """m_c: the rows of A, all of their terms, in the last level of the cache beside a panel."""
    last = caches()[max(caches())]
    return last.rows(terms * FLOAT, block_terms(width) * width * FLOAT)


def group_rows(terms: int, width: int, block: int) -> float:
    """The rows of A of a unit of a convolution, which stay in the level-2 cache beside a block of the panel."""
    return caches()[2].rows(terms * FLOAT, min(terms, block) * width * FLOAT)


def short_terms(width: int) -> float:
    """The terms of a panel that stay in the level-1 cache until all rows have used them."""
    return caches()[1].rows(width * FLOAT)


def winograd_tiles(channels: int, width: int) -> float:
    """The tiles whose transforms, and products by a panel, fill the level-2 cache with the panel, which streams if it does not fit."""
    points, size = 36, caches()[2].bytes
    panel = points * channels * width * FLOAT
    return (size - panel if panel < size else size) / (points * (channels + width) * FLOAT)


def window_bytes(kernel: int) -> float:
    """The bytes of the input rows under an output row of a depthwise convolution, which stay in half of L2 with that row.

    The other half has the rows that come next, which the processor prefetches.
    """
    return caches()[2].rows(1) / 2 * kernel / (kernel + 1)


def ring_bytes(weights: float) -> float:
    """The bytes of a ring buffer in the level-2 cache beside the weights."""
    return caches()[2].rows(1, weights)


def prefetch_floats() -> float:
    return MEMORY_LATENCY * MEMORY_RATE / FLOAT


def nearest(values: Sequence[float], ideal: float) -> float:
    """The value with the least ratio to the ideal one."""
    return min(values, key=lambda value: abs(math.log(value / max(ideal, 1))))


def at_least(values: Sequence[float], ideal: float) -> float:
    """The smallest value from the ideal one on; the largest value if all are smaller."""
    return min((value for value in values if value >= ideal), default=max(values))

"""Counts that depend on the caches of a machine: arguments that a program gets when it is opened.

A program that was saved on one machine so has the block sizes of the machine that runs it.  No result depends on them: they
divide rows, of which each is computed by itself.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from sardonyx._src.dataclass import dataclass

# The cache of a core, and a thread's share of the last level, after which there is only memory.
CacheName: TypeAlias = Literal["own", "last"]
STREAM_SHARE = (
    8  # divisor of a cache's bytes: the part that is left to what streams through it, a way of most caches
)


@dataclass(frozen=True, slots=True)
class CachedCount:
    """A kernel's argument: the number of equal blocks that stay in a cache.

    block_bytes: of each block.  resident_bytes: of what else stays in the cache.
    least: if fewer blocks fit, the number is `otherwise`.
    most: the greatest number.
    """

    cache: CacheName
    block_bytes: int
    resident_bytes: int
    least: int
    most: int
    otherwise: int

    def in_bytes(self, size: int) -> int:
        """The number for a cache of `size` bytes."""
        count = (size - size // STREAM_SHARE - self.resident_bytes) // max(self.block_bytes, 1)
        return min(count, self.most) if count >= self.least else self.otherwise

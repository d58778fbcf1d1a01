"""Memory of caches that runs update in place, and which states of one history share.

A run writes the entries of new tokens after those that a state has.  So states of the same memory agree about their common
entries, and a state may be continued in place unless another one has longer entries there: then its entries are copied.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from weakref import WeakSet

import numpy as np

from sardonyx._src.generate.decoder.cache_pairs import CachePair
from sardonyx._src.ir import Array
from sardonyx._src.runtime.results.output_arrays import OwnedArrays

MIN_BLOCK = (
    64  # entries by which a cache grows; one of more than 512 entries grows by an eighth to a sixteenth
)


class CacheMemory:
    """Arrays of caches by the names of the decoder's inputs.  Several threads may use it.

    pairs: of the arrays.  The axis of a pair has room for more entries than a state has; None for a buffer of a fixed size.
    room: the entries of the axes.
    outputs: the arrays by the names of the decoder's outputs, which a run writes in place.
    claims: the claims that states have.
    is_abandoned: whether a run ended early that may still write to it: no other run may.
    """

    def __init__(self, arrays: Mapping[str, Array], pairs: Sequence[CachePair]) -> None:
        self.arrays, self.pairs = arrays, tuple(pairs)
        self.axes = {pair.past: pair.axis for pair in pairs}
        sizes = [arrays[name].shape[axis] for name, axis in self.axes.items() if axis is not None]
        self.room = min(sizes, default=None)
        presents = {pair.present: arrays[pair.past] for pair in pairs}
        self.outputs = OwnedArrays(presents, {pair.present: pair.past for pair in pairs})
        self.claims: WeakSet[CacheClaim] = WeakSet()
        self.is_abandoned = False
        self.lock = threading.Lock()

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def claim(self, length: int) -> CacheClaim:
        """A claim of the first entries."""
        with self.lock:
            return self._add(length)

    def extend(self, claim: CacheClaim, length: int) -> CacheClaim | None:
        """A claim of more entries than one has, which a run then writes; None if it must not write them here."""
        with self.lock:
            is_latest = all(other.length <= claim.length for other in self.claims)
            has_room = self.room is None or length <= self.room
            return self._add(length) if is_latest and has_room and not self.is_abandoned else None

    def select(self, rows: Array) -> CacheMemory:
        """New memory with copies of these rows."""
        return CacheMemory({name: array[rows] for name, array in self.arrays.items()}, self.pairs)

    def _add(self, length: int) -> CacheClaim:
        claim = CacheClaim(self, length)
        self.claims.add(claim)
        return claim

    def views(self, length: int, others: Mapping[str, Array] | None = None) -> CacheViews:
        """The arrays, of the first entries alone, and other caches."""
        return CacheViews(self, length, others or {})


class CacheViews(Mapping[str, Array]):
    """Caches of a state by name: views of the first entries of a memory, made when they are read, and other arrays."""

    def __init__(self, memory: CacheMemory, length: int, others: Mapping[str, Array]) -> None:
        self.memory, self.length, self.others = memory, length, others

    def __getitem__(self, name: str) -> Array:
        if name in self.memory.arrays:
            return first_entries(self.memory.arrays[name], self.memory.axes[name], self.length)
        return self.others[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.memory.arrays
        yield from self.others

    def __len__(self) -> int:
        return len(self.memory.arrays) + len(self.others)


class CacheClaim:
    """The first entries of a memory, which no run changes as long as the claim exists.

    length: the number of entries.
    """

    def __init__(self, memory: CacheMemory, length: int) -> None:
        self.memory, self.length = memory, length


def move_entries(
    caches: Mapping[str, Array], pairs: Sequence[CachePair], length: int, expected: int
) -> CacheMemory:
    """New memory with room for `expected` entries, which has copies of the first entries of caches."""
    room = round_room(expected)
    arrays = {}
    for pair in pairs:
        cache = caches[pair.past]
        if pair.axis is None:
            arrays[pair.past] = cache.copy()
            continue
        shape = (*cache.shape[: pair.axis], room, *cache.shape[pair.axis + 1 :])
        array = np.zeros(shape, cache.dtype)  # pages of the system, which take memory when they are written
        first_entries(array, pair.axis, length)[...] = first_entries(cache, pair.axis, length)
        arrays[pair.past] = array
    return CacheMemory(arrays, pairs)


def first_entries(array: Array, axis: int | None, length: int) -> Array:
    return array if axis is None else array[(slice(None),) * axis + (slice(length),)]


def round_room(length: int) -> int:
    """The entries of a cache with at least `length`: a multiple of a block, at most an eighth of them."""
    block = max(MIN_BLOCK, (1 << (length.bit_length() - 1)) >> 3) if length else MIN_BLOCK
    return -(-length // block) * block

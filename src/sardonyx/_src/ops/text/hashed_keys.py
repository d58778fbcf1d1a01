"""A hash table of integers that looks up whole arrays: a binary search in sorted keys is ten times slower.

It has open addressing with linear probing, and a multiplicative hash (Knuth, The Art of Computer Programming, volume 3, 6.4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dataclass import dataclass

Ints = NDArray[np.int64]
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio
MIN_SLOT_BITS, SLOTS_PER_KEY = 3, 4


@dataclass(frozen=True, slots=True)
class HashedKeys:
    """A table from keys to numbers.

    keys: the key in each slot
    numbers: the number of the key in each slot; -1 for a free slot
    shift: the number of bits by which a hash is shifted right to give a slot
    """

    keys: Ints
    numbers: Ints
    shift: np.uint64

    @classmethod
    def of(cls, keys: Ints) -> HashedKeys:
        """The table from distinct keys to their indices."""
        bits = max(MIN_SLOT_BITS, (SLOTS_PER_KEY * len(keys)).bit_length())
        size = 1 << bits
        table = cls(np.zeros(size, np.int64), np.full(size, -1), np.uint64(64 - bits))
        waiting, slots = np.arange(len(keys)), table.slots(keys)
        while len(waiting):
            is_free = table.numbers[slots] < 0
            table.numbers[slots[is_free]] = waiting[is_free]  # of keys with one slot, the last one gets it
            table.keys[slots[is_free]] = keys[waiting[is_free]]
            is_left = table.numbers[slots] != waiting
            waiting, slots = waiting[is_left], (slots[is_left] + 1) & (size - 1)
        return table

    def slots(self, keys: Ints) -> Ints:
        """The slot at which the search for each key begins."""
        return ((keys.view(np.uint64) * MULTIPLIER) >> self.shift).view(np.int64)

    def find(self, keys: Ints) -> Ints:
        """The index of each key; -1 for one that is not in the table."""
        slots = self.slots(keys)
        numbers = self.numbers.take(slots)
        waiting = np.flatnonzero((self.keys.take(slots) != keys) & (numbers >= 0))
        numbers[waiting] = -1
        slots = slots[waiting]
        while len(waiting):
            slots = (slots + 1) & (len(self.keys) - 1)
            entries = self.numbers.take(slots)
            is_key = self.keys.take(slots) == keys[waiting]
            numbers[waiting[is_key]] = entries[is_key]
            is_left = ~is_key & (entries >= 0)
            waiting, slots = waiting[is_left], slots[is_left]
        return numbers

"""The checksum of the constants of a saved program: a sum of words, which chunks may add to in any order."""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array

WORD_BYTES = 8
WORD_MASK = (1 << 64) - 1


def word_sum(data: Array, offset: int) -> int:
    """The sum of the 64-bit words, little-endian, at multiples of 8 in a file that has only these bytes, modulo 2^64.

    data: [n] uint8.
    offset: their place in the file.
    """
    head = min(-offset % WORD_BYTES, len(data))
    words = data[head : head + (len(data) - head) // WORD_BYTES * WORD_BYTES]
    first, last = data[:head], data[head + len(words) :]
    total = int(words.view("<u8").sum(dtype=np.uint64)) + int.from_bytes(last.tobytes(), "little")
    shift = 8 * (offset % WORD_BYTES)
    return (total + (int.from_bytes(first.tobytes(), "little") << shift)) & WORD_MASK

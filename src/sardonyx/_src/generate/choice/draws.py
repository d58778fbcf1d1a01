"""Random numbers of a generation: each depends on the seed, the number of the result and the position of the token alone."""

from __future__ import annotations

import numpy as np

WORD = 1 << 64


def uniform(seed: int, result: int, position: int) -> float:
    """A number of [0, 1), a multiple of 2**-53.

    The counter-based generator Philox-4x64 (Salmon et al., 2011) makes it, so that results can be drawn in any order.
    """
    words = np.random.Philox(key=seed % WORD, counter=[0, 0, result, position]).random_raw(1)
    return float(int(words[0]) >> 11) * 2.0**-53

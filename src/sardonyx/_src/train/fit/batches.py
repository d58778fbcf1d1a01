"""The order of examples, and the seeds of steps, as functions of the seed of the run and of the position in it.

Nothing is carried from one epoch or step to the next, so that a run that is resumed anywhere continues as it would have.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array

HELD_OUT = (1 << 32) - 1  # passed as the epoch for the draw of the validation data: no epoch has this number


def order_of(seed: int, epoch: int, examples: int, *, shuffle: bool = True) -> Array:
    """The examples in the order of an epoch: int64 [examples].

    NumPy's legacy generator draws the order: its streams do not change between versions of NumPy.
    """
    if not shuffle:
        return np.arange(examples)
    return np.random.RandomState(np.array([seed, epoch], np.uint32)).permutation(examples)


def seed_of_step(seed: int, step: int) -> int:
    """The seed of the random operators in a step."""
    return int(np.random.SeedSequence((seed, step)).generate_state(1)[0])


def split_rows(seed: int, examples: int, share: float) -> tuple[Array, Array]:
    """The rows to train on and those to validate with, at least one of each; examples: at least 2."""
    order = order_of(seed, HELD_OUT, examples)
    count = min(max(round(examples * share), 1), examples - 1)
    return np.sort(order[count:]), np.sort(order[:count])

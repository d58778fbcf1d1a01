"""Numbers of random samples in tests: `make fuzz` takes a multiple of those of `make test`."""

from __future__ import annotations

import os

FACTOR = int(os.environ.get("SARDONYX_FUZZ_FACTOR", "1"))


def seed_range(first: int, count: int, step: int = 1) -> range:
    """Every `step`-th of `count` seeds from `first` on; `count` is multiplied by the factor of `make fuzz`."""
    return range(first, first + count * FACTOR, step)

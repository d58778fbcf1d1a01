"""What random operators draw from."""

from __future__ import annotations

from threading import Lock

import numpy as np


class Draws:
    """Random bits, the same for the same `seed`; they are made when they are first asked for, which takes time to load."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed, self._lock = seed, Lock()
        self._found: np.random.Generator | None = None

    def __call__(self) -> np.random.Generator:
        if self._found is None:
            with self._lock:  # or two threads would draw the same numbers
                self._found = self._found or np.random.default_rng(self.seed)
        return self._found

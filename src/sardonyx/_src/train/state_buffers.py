"""Memory of earlier states of a training session, which later ones reuse."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import RuntimeValue

UNSHARED = 2  # references to an array that a local variable and a parameter have


class StateBuffers:
    """The arrays of the last two states by the output that computes them.

    The present state is read while the next one is written, so that a step that fails changes nothing; what it is written to is
    the memory of the state before, unless someone else refers to it.
    """

    def __init__(self) -> None:
        self._present: dict[str, Array] = {}
        self._free: dict[str, Array] = {}

    def take(self, names: Iterable[str]) -> dict[str, Array]:
        """Arrays for these outputs of a step; none for an output whose old array is in use."""
        taken = {}
        for name in names:
            array = self._free.pop(name, None)
            if array is not None and sys.getrefcount(array) == UNSHARED:
                taken[name] = array
        return taken

    def keep(self, names: Iterable[str], results: Mapping[str, RuntimeValue]) -> None:
        """Records the outputs of a step as the present state."""
        for name in names:
            array = results[name]
            if name in self._present:
                self._free[name] = self._present.pop(name)
            if isinstance(array, np.ndarray) and array.base is None and array.flags.carray:
                self._present[name] = array

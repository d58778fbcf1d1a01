"""Memory of earlier states of a training session, which later ones reuse."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

import numpy as np

from sardonyx._src.compile.program.lazy_constants import aligned_empty
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import RuntimeValue

FIRST_STEPS = (
    2  # whose results a session allocates and checks: arrays for them would be a third copy of the state
)
UNSHARED = 2  # references to an array that a local variable and a parameter have, or to its memory the array and a parameter


class StateBuffers:
    """The arrays of the last two states by the output that computes them.

    The present state is read while the next one is written, so that a step that fails changes nothing; what it is written to is
    the memory of the state before, unless someone else refers to it.  All arrays begin at a cache line: an update reads and
    writes each element once, and takes twice as long if its vectors lie in two lines.
    """

    def __init__(self) -> None:
        self._present: dict[str, Array | None] = {}
        self._free: dict[str, Array] = {}
        self._steps = 0

    def take(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """Arrays for these outputs of a step, each like its present value; none in the first steps, nor for strings."""
        taken: dict[str, Array] = {}
        if self._steps < FIRST_STEPS:
            return taken
        for name in self._present.keys() & values.keys():
            array, value = self._free.pop(name, None), values[name]
            if array is not None and is_unshared(array):
                taken[name] = array
            elif not value.dtype.hasobject:
                taken[name] = aligned_empty(value.shape, value.dtype)
        return taken

    def keep(
        self, names: Iterable[str], taken: Mapping[str, Array], results: Mapping[str, RuntimeValue]
    ) -> None:
        """Records the outputs of a step, which have the types of the states, as the present state."""
        self._steps += 1
        for name in names:
            old, own = self._present.get(name), taken.get(name)
            if old is not None:
                self._free[name] = old
            self._present[name] = own if results[name] is own else None


def is_unshared(array: Array) -> bool:
    """Whether only the caller's variable refers to an array of `aligned_empty`, and no view to its memory."""
    return sys.getrefcount(array) == UNSHARED + 1 and sys.getrefcount(array.base) == UNSHARED


def aligned_copy(array: Array) -> Array:
    """A copy of an array that begins at a cache line, unless its elements are strings."""
    if array.dtype.hasobject:
        return array.copy()
    copy = aligned_empty(array.shape, array.dtype)
    np.copyto(copy, array)
    return copy

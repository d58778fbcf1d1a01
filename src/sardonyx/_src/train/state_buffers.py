"""Buffers for the state of a training session, which alternate between two sets of arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

import numpy as np

from sardonyx._src.compile.program.operands.lazy_constants import aligned_empty
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RuntimeValue

FIRST_STEPS = 2  # in the first steps the session allocates the results: buffers for them would be a third copy of the state
# References to an array that only one local variable of a caller holds, as `sys.getrefcount` counts them: the variable and the
# parameter of `getrefcount`.  Likewise for its memory: the array and the parameter.
UNSHARED = 2


class StateBuffers:
    """The arrays of the last two states, by the output that computes each.

    A step reads the present state and writes the next one into the arrays of the previous state, so that a step that fails
    changes nothing.  An array that the caller still refers to is not reused.  All arrays begin at a cache line: an update
    reads and writes each element once, and needs twice the time if its vectors straddle two lines.
    """

    def __init__(self) -> None:
        self._present: dict[str, Array | None] = {}
        self._free: dict[str, Array] = {}
        self._steps = 0

    def take(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """Arrays for the results of a step, by output name; none in the first steps, and none for strings.

        values: the present values of the states, whose shapes and types the arrays have.
        """
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
        """Records the results of a step as the present state.

        taken: the arrays that `take` returned for the step.  Results have the types of the states.
        """
        self._steps += 1
        for name in names:
            old, own = self._present.get(name), taken.get(name)
            if old is not None:
                self._free[name] = old
            self._present[name] = own if results[name] is own else None


def is_unshared(array: Array) -> bool:
    """Whether only the caller's variable refers to an array of `aligned_empty`, and no other view to its memory."""
    return sys.getrefcount(array) == UNSHARED + 1 and sys.getrefcount(array.base) == UNSHARED


def aligned_copy(array: Array) -> Array:
    """A copy of an array that begins at a cache line, unless its elements are strings."""
    if array.dtype.hasobject:
        return array.copy()
    copy = aligned_empty(array.shape, array.dtype)
    np.copyto(copy, array)
    return copy

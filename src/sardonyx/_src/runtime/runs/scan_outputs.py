"""Accumulation of scan outputs of loops whose number of iterations is known only at their end.

A scan output has one slice for each iteration.  The native loop writes slices into a buffer of a fixed number of them, and
stops whenever the buffer is full, so that Python copies it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.interp.run_state import Frame
from sardonyx._src.ir import Array, Value
from sardonyx._src.ops.run_values import ARRAY_OVERHEAD
from sardonyx._src.runtime.limits.run_limits import EMPTY_SCAN_OUTPUT, MEMORY_LIMIT, Bailout


class ScanOutputs:
    """The slices of one run so far.

    parts: the copied buffers of each scan output, in order.
    bytes: the size of these copies for each scan output.
    """

    def __init__(self) -> None:
        self.parts: dict[Value, list[Array]] = {}
        self.bytes: dict[Value, int] = {}

    def collect(
        self, buffers: Mapping[Value, Array], iterations: int, frame: Frame, *, is_last: bool
    ) -> None:
        """Copies full buffers, [iterations, ...].

        iterations: the number of iterations so far.
        is_last: whether the loop has ended.  Then only the rest of the last buffer is copied, and the frame receives the
            complete values.
        Raises Bailout for a loop without iterations, whose outputs have unknown dims, and for a result beyond its limit;
        LimitError if the run exceeds its limit.
        """
        for value, buffer in buffers.items():
            # A buffer that is just full was collected when it filled: nothing of it is left at the end.
            part = buffer[: iterations % len(buffer)] if is_last else buffer
            frame.run.memory.reserve(part.nbytes + ARRAY_OVERHEAD)
            self.parts.setdefault(value, []).append(part.copy())
            self.bytes[value] = self.bytes.get(value, 0) + part.nbytes
            if self.bytes[value] > frame.run.limits.bytes:
                raise Bailout(MEMORY_LIMIT)
            if is_last and not iterations:
                raise Bailout(EMPTY_SCAN_OUTPUT)
            if is_last:
                self.complete(value, frame)

    def complete(self, value: Value, frame: Frame) -> None:
        """Stores the concatenated slices of a scan output in the frame."""
        parts, nbytes, memory = self.parts.pop(value), self.bytes.pop(value), frame.run.memory
        if nbytes > memory.available:
            memory.refuse(memory.used + nbytes)
        output = frame.values[value] = np.concatenate(parts)
        memory.release(nbytes + len(parts) * ARRAY_OVERHEAD)
        memory.add([output])

    def clear(self) -> None:
        """Drops the slices that an unfinished run left; what they reserved ends with the memory of the run."""
        self.parts.clear()
        self.bytes.clear()

"""Accumulation of scan outputs of loops whose number of iterations is known only when they end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.interp.run_state import Frame
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import ARRAY_OVERHEAD
from sardonyx._src.runtime.limits.run_limits import EMPTY_SCAN_OUTPUT, MEMORY_LIMIT, Bailout


class ScanOutputs:
    """The slices of one run so far, for each scan output, and their bytes."""

    def __init__(self) -> None:
        self.parts: dict[Value, list[Array]] = {}
        self.bytes: dict[Value, int] = {}

    def collect(
        self, buffers: Mapping[Value, Array], iterations: int, frame: Frame, *, is_last: bool
    ) -> None:
        """Copies full buffers, [iterations, ...]; at the last time, their rest, and then sets the values in the frame.

        Raises Bailout for a loop without iterations, whose outputs have unknown dims, and past the limit on a result;
        LimitError past the limit on the run.
        """
        for value, buffer in buffers.items():
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
        """Sets a value in the frame to its slices."""
        parts, nbytes, memory = self.parts.pop(value), self.bytes.pop(value), frame.run.memory
        if nbytes > memory.available:
            memory.refuse(memory.used + nbytes)
        output = frame.values[value] = np.concatenate(parts)
        memory.release(nbytes + len(parts) * ARRAY_OVERHEAD)
        memory.add([output])

    def clear(self) -> None:
        """Drops what an unfinished run left."""
        self.parts.clear()
        self.bytes.clear()

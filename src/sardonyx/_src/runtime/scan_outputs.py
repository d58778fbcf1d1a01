"""Accumulation of scan outputs of loops whose number of iterations is known only when they end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.interp.run_state import Frame
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.runtime.run_limits import EMPTY_SCAN_OUTPUT, MEMORY_LIMIT, Bailout


class ScanOutputs:
    """The slices of one run so far, for each scan output."""

    def __init__(self) -> None:
        self.parts: dict[Value, list[Array]] = {}

    def collect(
        self, buffers: Mapping[Value, Array], iterations: int, frame: Frame, *, is_last: bool
    ) -> None:
        """Copies full buffers, [iterations, ...]; at the last time, their rest, and then sets the values in the frame.

        Raises Bailout for a loop without iterations, whose outputs have unknown dims, and past the memory limit.
        """
        for value, buffer in buffers.items():
            parts = self.parts.setdefault(value, [])
            parts.append(buffer[: iterations % len(buffer)].copy() if is_last else buffer.copy())
            if sum(part.nbytes for part in parts) > frame.run.limits.bytes:
                raise Bailout(MEMORY_LIMIT)
            if is_last and not iterations:
                raise Bailout(EMPTY_SCAN_OUTPUT)
            if is_last:
                frame.values[value] = np.concatenate(self.parts.pop(value))

    def clear(self) -> None:
        """Drops what an unfinished run left."""
        self.parts.clear()

"""What turns of a loop leave, taken out of its buffers part by part until it is known how many there were."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.interp.steps import Frame
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.runtime.limits import Unfit


class Collected:
    """The slices of a run so far, for each value that they make up."""

    def __init__(self) -> None:
        self.parts: dict[Value, list[Array]] = {}

    def take(self, buffers: Mapping[Value, Array], turns: int, frame: Frame, *, is_last: bool) -> None:
        """Takes all of the buffers, or at last what they have behind so many turns; then the values are in the frame.

        Raises Unfit where there was no turn, or there are too many: the reference engine says what comes of that.
        """
        for value, buffer in buffers.items():
            parts = self.parts.setdefault(value, [])
            parts.append(buffer[: turns % len(buffer)].copy() if is_last else buffer.copy())
            if sum(part.nbytes for part in parts) > frame.run.limits.bytes or (is_last and not turns):
                raise Unfit
            if is_last:
                frame.values[value] = np.concatenate(self.parts.pop(value))

    def clear(self) -> None:
        """Lets go of what an unfinished run has left."""
        self.parts.clear()

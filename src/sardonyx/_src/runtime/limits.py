"""The limits of a run, as native code is told of them and as it tells which it has passed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.compile import status
from sardonyx._src.errors import LimitError
from sardonyx._src.interp.steps import Run
from sardonyx._src.ops.api import RunLimits


class Unfit(Exception):
    """The feeds are beyond what the program was made for; the reference engine says what is wrong with them."""


def begin(words: NDArray[np.int64], run: Run) -> None:
    """Puts down what native code is to know before it begins, in the words of `compile.status`."""
    words[status.FAULT] = words[status.LIMIT] = 0
    words[status.NODES], words[status.MOST_NODES] = run.nodes, min(run.limits.nodes, status.MOST)
    words[status.ITERATIONS] = min(run.limits.iterations, status.MOST)


def refuse_passed(words: NDArray[np.int64], limits: RunLimits) -> None:
    """Raises LimitError if native code has noted that a limit is passed."""
    match int(words[status.LIMIT]):
        case status.LOOPED:
            raise LimitError(f"the loop has run {words[status.COUNT]} times", limit="limits.iterations")
        case status.SCANNED:
            raise LimitError(
                f"the inputs have {words[status.COUNT]} slices to scan", limit="limits.iterations"
            )
        case status.CALLED:
            raise LimitError(f"one run has called {limits.nodes} nodes", limit="limits.nodes")

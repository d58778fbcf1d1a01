"""Writing updates into a copy of a tensor, or combining them with what is there."""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.arithmetic import narrow, widen

REDUCTIONS: dict[int, dict[str, np.ufunc]] = {
    16: {"add": np.add, "mul": np.multiply},
    18: {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum},
}


def scattered(
    data: Array, where: tuple[Array, ...], updates: Array, reduction: str = "none", version: int = 16
) -> Array:
    """A copy of data in which `where` is replaced by, or combined with, updates; the last of equal places wins.

    Narrow floats are combined in float32 and rounded once.  Raises EvaluationError for a reduction that the version
    lacks, or that the element type cannot do.
    """
    if reduction == "none":
        result = data.copy()
        result[where] = updates
        return result
    combine = REDUCTIONS[version].get(reduction)
    if combine is None:
        raise EvaluationError(
            f"reduction is {reduction!r}, where none or {', '.join(REDUCTIONS[version])} is wanted"
        )
    unordered = data.dtype.kind == "c" and reduction in ("max", "min")
    if data.dtype.kind == "O" or unordered:
        raise EvaluationError(f"reduction {reduction!r} is not defined for elements of {data.dtype}")
    wide = widen(data).copy()
    combine.at(wide, where, widen(updates))
    return narrow(wide, data.dtype)

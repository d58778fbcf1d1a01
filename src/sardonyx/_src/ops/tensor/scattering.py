"""Shared by ScatterElements and ScatterND: updates written into a copy of a tensor, or combined with its elements."""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type

REDUCTION_UFUNCS: dict[int, dict[str, np.ufunc]] = {
    16: {"add": np.add, "mul": np.multiply},
    18: {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum},
}
SCATTER_REDUCTIONS = {version: ("none", *ufuncs) for version, ufuncs in REDUCTION_UFUNCS.items()}


def scatter_updates(
    data: Array, positions: tuple[Array, ...], updates: Array, reduction: str = "none", version: int = 16
) -> Array:
    """A copy of data with updates written to `positions`, or combined with the elements there.

    Of several updates written to one position, the last wins.

    Half precision is combined in float32 and rounded once.  Raises EvaluationError for a reduction that the version
    or the element type does not support.
    """
    if reduction == "none":
        result = data.copy()
        result[positions] = updates
        return result
    combine = REDUCTION_UFUNCS[version].get(reduction)
    if combine is None:
        raise EvaluationError(
            f"reduction must be none or {', '.join(REDUCTION_UFUNCS[version])}; got {reduction!r}"
        )
    unordered = data.dtype.kind == "c" and reduction in ("max", "min")
    if data.dtype.kind == "O" or unordered:
        raise EvaluationError(f"reduction must be none for elements of {data.dtype}; got {reduction!r}")
    wide = promote_to_float32(data).copy()
    combine.at(wide, positions, promote_to_float32(updates))
    return round_to_type(wide, data.dtype)

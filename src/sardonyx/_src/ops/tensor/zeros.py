"""The default fill element of each element type."""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array


def zero(dtype: np.dtype[np.generic]) -> Array:
    """0, False or "" as a scalar of that type; for float8e8m0, which has no zero, its smallest number."""
    return np.array("", np.object_) if dtype.kind == "O" else np.zeros((), dtype)

"""The element that fills what no data fill."""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.tensors import Array


def zero(dtype: np.dtype[np.generic]) -> Array:
    """0, False or "" as a scalar of that type; float8e8m0 has no zero and gives its least number."""
    return np.array("", np.object_) if dtype.kind == "O" else np.zeros((), dtype)

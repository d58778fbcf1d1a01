"""Conversion of a session's outputs to tensors, since the Open Inference Protocol has no maps and sequences."""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import OutputError
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RunResult


def tensor_of(name: str, value: RunResult) -> Array:
    """The tensor of an output: an array unchanged, and the maps of a ZipMap as rows of a matrix.

    The columns are the keys in ascending order.  Raises OutputError for any other value.
    """
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, list) and all(
        isinstance(row, dict) and row.keys() == value[0].keys() for row in value
    ):
        return rows_of(value)
    raise OutputError(f"output {name!r} must be a tensor; got {type(value).__name__}", name=name)


def rows_of(maps: list[dict[int | str, float]]) -> Array:
    """Maps with equal keys as a float32 matrix [len(maps), len(keys)]."""
    keys = sorted(maps[0], key=lambda key: (isinstance(key, str), key)) if maps else []
    return np.array([[row[key] for key in keys] for row in maps], np.float32).reshape(len(maps), len(keys))

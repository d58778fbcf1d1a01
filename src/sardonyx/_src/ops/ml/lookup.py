"""Look-up of elements in a list of keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from sardonyx._src.ir import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray


def find_positions(x: Array, keys: Array, *, last: bool, bitwise: bool = False) -> NDArray[np.int64]:
    """The index of each element of x among the keys, in the shape of x; -1 if it is not a key.

    last: whether the last one of equal keys counts, instead of the first one
    bitwise: whether floats are equal if their bits are; otherwise they are equal if their values are, or if both are NaN
    """
    if x.dtype.kind == "O":
        return find_strings(x, tuple(keys.tolist()), last=last)
    codes, key_codes = (x, keys) if x.dtype.kind in "iu" else (bits(x, bitwise), bits(keys, bitwise))
    order = np.argsort(key_codes, kind="stable")
    ordered = key_codes[order]
    if not len(ordered):
        return np.full(x.shape, -1, np.int64)
    positions = np.searchsorted(ordered, codes, side="right" if last else "left") - last
    positions = np.clip(positions, 0, len(ordered) - 1)
    return np.where(ordered[positions] == codes, order[positions], -1)


def find_strings(x: Array, keys: tuple[str, ...], *, last: bool) -> NDArray[np.int64]:
    return map_strings(x, string_table(keys, last), -1)


def map_strings(x: Array, table: Mapping[str, int], default: int) -> NDArray[np.int64]:
    """The integer of each string in a table; `default` for a string that is not in it."""
    integers = map(table.get, x.reshape(-1).tolist(), repeat(default))
    return np.fromiter(integers, np.int64, x.size).reshape(x.shape)


@lru_cache(maxsize=256)
def string_table(keys: tuple[str, ...], last: bool) -> dict[str, int]:
    """The index of each key; for equal keys, the index of the last or the first one."""
    indices = range(len(keys)) if last else range(len(keys) - 1, -1, -1)
    return {keys[i]: i for i in indices}


def bits(x: Array, bitwise: bool) -> Array:
    """Floats as integers that are equal if the floats are; all NaN are equal unless `bitwise`."""
    if not bitwise:
        x = np.where(np.isnan(x), x.dtype.type(np.nan), x + x.dtype.type(0))  # -0 + 0 is 0
    return np.ascontiguousarray(x).reshape(x.shape).view(f"i{x.dtype.itemsize}")


def take_or_default(positions: NDArray[np.int64], values: Array, default: object) -> Array:
    """The values at some positions, and `default` for the position -1."""
    result: Array = np.empty(positions.shape, values.dtype)
    result[...] = default
    inside = positions >= 0
    result[inside] = values[positions[inside]]
    return result


def string_vector(values: Sequence[str]) -> Array:
    """Strings as a vector."""
    return np.fromiter(values, np.dtype(object), len(values))

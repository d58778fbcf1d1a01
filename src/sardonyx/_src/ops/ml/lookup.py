"""Finding elements in a list of keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.ir.tensors import Array


def positions(x: Array, keys: Array, *, last: bool, bitwise: bool = False) -> NDArray[np.int64]:
    """Where each element of x stands among the keys, in the shape of x; -1 where it does not.

    last: which of several equal keys counts, else the first one.  bitwise: floats are equal when their bits are, else
    when their values are or both are NaN.
    """
    if x.dtype.kind == "O":
        return found_texts(x, keys.tolist(), last)
    codes, wanted = (x, keys) if x.dtype.kind in "iu" else (bits(x, bitwise), bits(keys, bitwise))
    order = np.argsort(wanted, kind="stable")
    ordered = wanted[order]
    if not len(ordered):
        return np.full(x.shape, -1, np.int64)
    places = np.searchsorted(ordered, codes, side="right" if last else "left") - last
    places = np.clip(places, 0, len(ordered) - 1)
    return np.where(ordered[places] == codes, order[places], -1)


def found_texts(x: Array, keys: Sequence[str], last: bool) -> NDArray[np.int64]:
    places = range(len(keys)) if last else range(len(keys) - 1, -1, -1)
    table = {keys[i]: i for i in places}
    return np.array([table.get(s, -1) for s in x.reshape(-1).tolist()], np.int64).reshape(x.shape)


def bits(x: Array, bitwise: bool) -> Array:
    """Floats as integers that are equal where the floats are to be; NaN is one number unless bits decide."""
    if not bitwise:
        x = np.where(np.isnan(x), x.dtype.type(np.nan), x + x.dtype.type(0))  # -0 + 0 is 0
    return np.ascontiguousarray(x).reshape(x.shape).view(f"i{x.dtype.itemsize}")


def chosen(places: NDArray[np.int64], values: Array, default: object) -> Array:
    """values[places], and `default` where there is no place."""
    result: Array = np.empty(places.shape, values.dtype)
    result[...] = default
    inside = places >= 0
    result[inside] = values[places[inside]]
    return result


def texts(values: Sequence[str]) -> Array:
    """Strings as a vector."""
    result: Array = np.empty(len(values), object)
    result[:] = values
    return result

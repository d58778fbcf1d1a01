"""Results of two runs held against each other."""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.tensors import Array, SparseTensor
from sardonyx._src.ops.api import RuntimeValue

# What rounding in another order may make of a float, relative to the largest magnitude in its tensor: some hundred
# units in the last place, since errors add up along deep graphs; a wrong operand is orders of magnitude above that.
ROUNDING = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
FLOOR = 1e-3  # of magnitudes: what is below is left of differences of larger numbers, and their rounding


def difference(actual: RuntimeValue, expected: RuntimeValue) -> str:
    """What differs between two run-time values; empty when they are equal, floats up to rounding."""
    if isinstance(expected, SparseTensor) and isinstance(actual, SparseTensor):
        return difference(actual.numpy(), expected.numpy())
    if isinstance(expected, list) and isinstance(actual, list):
        if len(actual) != len(expected):
            return f"{len(actual)} elements, not {len(expected)}"
        pairs = enumerate(zip(actual, expected, strict=True))
        return next((f"[{i}]: {d}" for i, (a, e) in pairs if (d := difference(a, e))), "")
    if isinstance(expected, dict) and isinstance(actual, dict):
        if list(actual) != list(expected):
            return f"keys {list(actual)}, not {list(expected)}"
        found = ((key, difference(actual[key], expected[key])) for key in expected)  # type: ignore[index]
        return next((f"[{key!r}]: {d}" for key, d in found if d), "")
    if isinstance(expected, np.ndarray) and isinstance(actual, np.ndarray):
        return kind_difference(actual, expected) or element_difference(actual, expected)
    return "" if actual is None and expected is None else kind_difference(actual, expected)


def kind_difference(actual: RuntimeValue, expected: RuntimeValue) -> str:
    """What differs between element types and shapes of two tensors, or kinds of two other values."""
    if isinstance(expected, np.ndarray) and isinstance(actual, np.ndarray):
        if actual.dtype != expected.dtype:
            return f"elements of {actual.dtype}, not {expected.dtype}"
        return "" if actual.shape == expected.shape else f"shape {actual.shape}, not {expected.shape}"
    mine, theirs = type(actual).__name__, type(expected).__name__
    return "" if mine == theirs else f"{mine}, not {theirs}"


def element_difference(actual: Array, expected: Array) -> str:
    if actual.dtype.kind in "OUSbiu" or (actual.dtype.kind == "V" and not is_narrow_float(actual)):
        same = np.asarray(actual == expected)
        return "" if same.all() else first(actual, expected, ~same)
    wide = np.complex128 if actual.dtype.kind == "c" else np.float64
    a, e = actual.astype(wide), expected.astype(wide)
    finite = np.isfinite(a) & np.isfinite(e)
    largest = float(np.abs(e[finite]).max(initial=0.0))
    bound = rounding(actual.dtype) * max(largest, FLOOR)
    with np.errstate(all="ignore"):
        off = np.where(finite, np.abs(a - e) > bound, (a != e) & ~(np.isnan(a) & np.isnan(e)))
    return first(actual, expected, off) if off.any() else ""


def is_narrow_float(x: Array) -> bool:
    return "float" in x.dtype.name


def rounding(dtype: np.dtype[np.generic]) -> float:
    if dtype.kind == "c":
        return ROUNDING["float64" if dtype.itemsize == 16 else "float32"]
    return ROUNDING.get(dtype.name, 0.25)  # of 8 and fewer bits: two units in the last place


def first(actual: Array, expected: Array, off: Array) -> str:
    """The first element that differs, and how many do."""
    at = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(off)))
    a, e = np.atleast_1d(actual)[at], np.atleast_1d(expected)[at]
    return f"element {list(at)} is {a}, not {e} ({int(off.sum())} of {off.size} differ)"

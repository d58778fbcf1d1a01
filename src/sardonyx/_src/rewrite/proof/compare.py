"""Comparison of the results of two runs, floats up to rounding."""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array, SparseTensor
from sardonyx._src.ops.api import RuntimeValue

# Permitted differences of floats, relative to the largest magnitude in their tensor: some hundred units in the last
# place, since rounding errors accumulate in deep graphs.  A wrong operand differs by orders of magnitude more.
RELATIVE_TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
MIN_MAGNITUDE = 1e-3  # tensors with smaller elements may consist of rounding errors only: they are compared as if they had this magnitude


def difference(actual: RuntimeValue, expected: RuntimeValue, tolerance: float | None = None) -> str:
    """How two run-time values differ; empty if they are equal, floats up to rounding.

    tolerance: the permitted difference of floats, relative to the largest magnitude in their tensor; None for the tolerance
        of their type.
    """
    if isinstance(expected, SparseTensor) and isinstance(actual, SparseTensor):
        return difference(actual.numpy(), expected.numpy(), tolerance)
    if isinstance(expected, list) and isinstance(actual, list):
        if len(actual) != len(expected):
            return f"expected {len(expected)} elements; got {len(actual)}"
        pairs = enumerate(zip(actual, expected, strict=True))
        return next((f"[{i}]: {d}" for i, (a, e) in pairs if (d := difference(a, e, tolerance))), "")
    if isinstance(expected, dict) and isinstance(actual, dict):
        if list(actual) != list(expected):
            return f"expected keys {list(expected)}; got {list(actual)}"
        items = zip(expected, actual.values(), expected.values(), strict=True)
        differences = ((key, difference(a, e, tolerance)) for key, a, e in items)
        return next((f"[{key!r}]: {d}" for key, d in differences if d), "")
    if isinstance(expected, np.ndarray) and isinstance(actual, np.ndarray):
        return kind_difference(actual, expected) or element_difference(actual, expected, tolerance)
    return "" if actual is None and expected is None else kind_difference(actual, expected)


def kind_difference(actual: RuntimeValue, expected: RuntimeValue) -> str:
    """How the element types and shapes of two tensors, or the kinds of two other values, differ."""
    if isinstance(expected, np.ndarray) and isinstance(actual, np.ndarray):
        if actual.dtype != expected.dtype:
            return f"expected elements of {expected.dtype}; got {actual.dtype}"
        return (
            "" if actual.shape == expected.shape else f"expected shape {expected.shape}; got {actual.shape}"
        )
    mine, theirs = type(actual).__name__, type(expected).__name__
    return "" if mine == theirs else f"expected {theirs}; got {mine}"


def element_difference(actual: Array, expected: Array, tolerance: float | None = None) -> str:
    if actual.dtype.kind in "OUSbiu" or (actual.dtype.kind == "V" and not is_narrow_float(actual)):
        same = np.asarray(actual == expected)
        return "" if same.all() else describe_first(actual, expected, ~same)
    compute_dtype = np.complex128 if actual.dtype.kind == "c" else np.float64
    a, e = actual.astype(compute_dtype), expected.astype(compute_dtype)
    finite = np.isfinite(a) & np.isfinite(e)
    largest = float(np.abs(e[finite]).max(initial=0.0))
    relative = relative_tolerance(actual.dtype) if tolerance is None else tolerance
    bound = relative * max(largest, MIN_MAGNITUDE)
    with np.errstate(all="ignore"):
        off = np.where(finite, np.abs(a - e) > bound, (a != e) & ~(np.isnan(a) & np.isnan(e)))
    return describe_first(actual, expected, off) if off.any() else ""


def is_narrow_float(x: Array) -> bool:
    return "float" in x.dtype.name


def relative_tolerance(dtype: np.dtype[np.generic]) -> float:
    if dtype.kind == "c":
        return RELATIVE_TOLERANCES["float64" if dtype.itemsize == 16 else "float32"]
    return RELATIVE_TOLERANCES.get(
        dtype.name, 0.25
    )  # two units in the last place of floats of at most 8 bits


def describe_first(actual: Array, expected: Array, off: Array) -> str:
    """The first differing element, and the number of differing elements."""
    index = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(off)))
    a, e = np.atleast_1d(actual)[index], np.atleast_1d(expected)[index]
    return f"element {list(index)}: expected {e}; got {a} ({int(off.sum())} of {off.size} differ)"

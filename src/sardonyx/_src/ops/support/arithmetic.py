"""Arithmetic on narrow floats, which have fewer than 32 bits: they are promoted to float32, and results are rounded once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, cast

import numpy as np

from sardonyx._src.ir import Array

P = ParamSpec("P")


def is_narrow(dtype: np.dtype[np.generic]) -> bool:
    """Whether a float type has fewer bits than float32: float16, bfloat16, float8 and below."""
    return dtype.itemsize < 4 and dtype.kind not in "biuSUO" and is_float(dtype)


def is_float(dtype: np.dtype[np.generic]) -> bool:
    """Whether the type is a real floating-point one, NumPy's or ml_dtypes'."""
    if dtype.kind == "f":
        return True
    import ml_dtypes  # lazy: few models need it

    try:
        ml_dtypes.finfo(dtype)
    except ValueError:
        return False
    return dtype.kind != "c"


def promote_to_float32(x: Array) -> Array:
    """A narrow float array as float32; any other array unchanged."""
    return x.astype(np.float32) if is_narrow(x.dtype) else x


def compute_in_float32(function: Callable[P, Array]) -> Callable[P, Array]:
    """Wraps a kernel so that narrow floats are computed in float32 and rounded once to the first input's type."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Array:
        first = args[0]
        if not isinstance(first, np.ndarray) or not is_narrow(first.dtype):
            return function(*args, **kwargs)
        wide = [promote_to_float32(a) if isinstance(a, np.ndarray) else a for a in args]
        return round_to_type(cast("Callable[..., Array]", function)(*wide, **kwargs), first.dtype)

    return wrapper


def round_to_type(x: Array, dtype: np.dtype[np.generic]) -> Array:
    """x rounded to `dtype`; overflow gives infinity, or NaN in a type without infinities."""
    with np.errstate(all="ignore"):
        return x.astype(dtype)

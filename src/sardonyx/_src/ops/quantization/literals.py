"""Numbers as strings and strings as numbers.

Spec: the paragraph on strings of Cast-9 and later.  Numbers are written plainly, without exponent, with as few digits
as tell them from their neighbours of the same type (float32 for narrower types); bool as 1 and 0; "NaN", "INF" and
"-INF" are the rest.  Read are these words in any case, with or without sign where they are infinite, and decimal
numbers with or without exponent; where an integer is wanted a fraction is cut off.  Anything else is refused.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.quantization.conversion import plain

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
INTEGER = re.compile(r"[+-]?[0-9]+")
WORDS = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def written(x: Array) -> NDArray[np.object_]:
    """The numbers of x as strings, in its shape."""
    values = plain(x)
    flat = values.reshape(-1)
    result = np.empty(flat.size, np.object_)
    if values.dtype.kind == "f":
        result[:] = [written_float(v) for v in flat]  # NumPy scalars, which know their precision
    else:
        result[:] = [str(int(v)) for v in flat.tolist()]
    return result.reshape(x.shape)


def written_float(value: np.floating[Any]) -> str:
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "INF" if value > 0 else "-INF"
    return np.format_float_positional(value, unique=True, trim="-")


def read(x: Array, to: DataType) -> Array:
    """The strings of x as numbers that are then converted to `to`: float64, or uint64 modulo 2 ** 64 for integers.

    Raises EvaluationError for a string that is no number.
    """
    texts = [str(s).strip() for s in x.reshape(-1).tolist()]
    if to.is_integer:
        return np.array([read_integer(s) & (1 << 64) - 1 for s in texts], np.uint64).reshape(x.shape)
    one = read_float if to in (DataType.DOUBLE, DataType.BOOL) else read_odd_float
    return np.array([one(s) for s in texts], np.float64).reshape(x.shape)


def read_integer(text: str) -> int:
    if INTEGER.fullmatch(text):
        return int(text)
    value = read_float(text)
    if not math.isfinite(value):
        raise EvaluationError(f"the string {text!r} is no number that an integer can hold")
    return int(value)


def read_float(text: str) -> float:
    if NUMBER.fullmatch(text):
        return float(text)
    value = WORDS.get(text.lower())
    if value is None:
        raise EvaluationError(f"the string {text!r} is no number: decimals, INF, -INF and NaN are read")
    return value


def read_odd_float(text: str) -> float:
    """The number rounded to odd, so that it can be rounded again to a narrower type."""
    near = read_float(text)
    if not math.isfinite(near) or near == 0 or int(np.float64(near).view(np.int64)) & 1:
        return near
    exact, rounded = Decimal(text), Decimal(near)
    if exact == rounded:
        return near
    return math.nextafter(near, math.inf if exact > rounded else -math.inf)

"""Conversion between numbers and strings.

Spec: the paragraph on strings of Cast-9 and later.  Numbers are formatted without exponent, with the
fewest digits that identify them in their type (float32 for narrower types); bool as 1 and 0; other values as "NaN",
"INF" and "-INF".  The parser accepts these words in any case, infinities with or without sign, and decimal numbers
with or without exponent; the fraction of an integer is dropped.  Anything else is refused.
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
from sardonyx._src.ir import Array
from sardonyx._src.ops.quantization.conversion import to_numpy_type

NUMBER_LITERAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
INTEGER_LITERAL = re.compile(r"[+-]?[0-9]+")
SPECIAL_VALUES = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def format_numbers(x: Array) -> NDArray[np.object_]:
    """The numbers of x as strings, in its shape."""
    values = to_numpy_type(x)
    flat = values.reshape(-1)
    result = np.empty(flat.size, np.object_)
    if values.dtype.kind == "f":
        result[:] = [format_float(v) for v in flat]  # NumPy scalars, which know their precision
    else:
        result[:] = [str(int(v)) for v in flat.tolist()]
    return result.reshape(x.shape)


def format_float(value: np.floating[Any]) -> str:
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "INF" if value > 0 else "-INF"
    return np.format_float_positional(value, unique=True, trim="-")


def parse_numbers(x: Array, to: DataType) -> Array:
    """The strings of x as float64, or modulo 2 ** 64 as uint64 if `to` is an integer type.

    The caller then converts these numbers to `to`.

    Raises EvaluationError for a string that is no number.
    """
    strings = [str(s).strip() for s in x.reshape(-1).tolist()]
    if to.is_integer:
        return np.array([parse_integer(s) & (1 << 64) - 1 for s in strings], np.uint64).reshape(x.shape)
    parse = parse_float if to in (DataType.DOUBLE, DataType.BOOL) else parse_odd_float
    return np.array([parse(s) for s in strings], np.float64).reshape(x.shape)


def parse_integer(text: str) -> int:
    if INTEGER_LITERAL.fullmatch(text):
        return int(text)
    value = parse_float(text)
    if not math.isfinite(value):
        raise EvaluationError(f"a string cast to an integer must hold a number in its range; got {text!r}")
    return int(value)


def parse_float(text: str) -> float:
    if NUMBER_LITERAL.fullmatch(text):
        return float(text)
    value = SPECIAL_VALUES.get(text.lower())
    if value is None:
        raise EvaluationError(
            f"a string cast to a number must hold a decimal, INF, -INF or NaN; got {text!r}"
        )
    return value


def parse_odd_float(text: str) -> float:
    """The number as float64; if it is inexact, rounded to a neighbor with an odd last bit.

    Rounding this float64 to a narrower type then gives the same as rounding the decimal number.
    """
    near = parse_float(text)
    if not math.isfinite(near) or near == 0 or int(np.float64(near).view(np.int64)) & 1:
        return near
    exact, rounded = Decimal(text), Decimal(near)
    if exact == rounded:
        return near
    return math.nextafter(near, math.inf if exact > rounded else -math.inf)

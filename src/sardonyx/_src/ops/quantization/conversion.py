"""Conversion between element types: rounded once, wrapped around or saturated.

Spec: the lists and tables of Cast-13 to Cast-28, which QuantizeLinear and CastLike refer to.  Results that they leave
undefined are defined here, the same on every machine:
- a float outside the range of an integer type loses its fraction and its high bits: it is converted to int64 for
  uint32 and types of 64 bits, to int32 for the others, and then wrapped around; where it overflows int64 or int32
  itself, it becomes the lowest number of that type, as on x86;
- in types without NaN (float4, float6) NaN becomes -0;
- negative numbers become NaN in float8e8m0, and -0 is converted as 0.

Numbers are rounded only once.  Where a conversion needs an intermediate type, the number is rounded to it "to odd": if it
is inexact, to the neighbor with an odd last bit, so that rounding to fewer bits afterwards gives the correct result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.support.arithmetic import promote_to_float32

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_FINITE = {  # the largest finite number of each type that `saturate` applies to
    DataType.FLOAT8E4M3FN: 448.0,
    DataType.FLOAT8E4M3FNUZ: 240.0,
    DataType.FLOAT8E5M2: 57344.0,
    DataType.FLOAT8E5M2FNUZ: 57344.0,
}
FNUZ_TYPES = (DataType.FLOAT8E4M3FNUZ, DataType.FLOAT8E5M2FNUZ)
WITHOUT_NAN = (DataType.FLOAT4E2M1, DataType.FLOAT6E2M3, DataType.FLOAT6E3M2)
# Rounding to powers of two (float8e8m0), by round_mode: the least fraction in [0.5, 1) that rounds up.
ROUND_MODES = {"up": np.nextafter(0.5, 1), "nearest": 0.75, "down": 1.0}
IEEE = (DataType.DOUBLE, DataType.FLOAT, DataType.FLOAT16)


@dataclass(frozen=True, slots=True)
class CastRule:
    """How numbers out of range are converted to float8 types."""

    saturate: bool = True
    round_mode: str = "up"  # how float8e8m0 is rounded: up, nearest or down
    infinity_saturates: bool = True  # whether FNUZ types saturate infinities; versions 19 to 23 make them NaN


def rule_of(version: int, saturate: int = 1, round_mode: str = "up") -> CastRule:
    """The rule of Cast, CastLike and QuantizeLinear in this version; their versions mean the same."""
    return CastRule(bool(saturate), round_mode, infinity_saturates=version >= 24)


def convert(x: Array, to: DataType, rule: CastRule) -> Array:
    """x, numbers or bool, as elements of `to` (not STRING or complex); x itself if it has that type."""
    if x.dtype == to.numpy:
        return x
    with np.errstate(all="ignore"):
        x = to_numpy_type(x)
        if to is DataType.BOOL:
            return x != 0
        return to_integer(x, to) if to.is_integer else to_float(x, to, rule)


def to_numpy_type(x: Array) -> Array:
    """x in an element type of NumPy: narrow floats as float32, integers of fewer than 8 bits as int8 or uint8."""
    source = DataType.of(x.dtype)
    if source.is_integer and source.bits < 8:
        return x.astype(np.int8 if source.is_signed else np.uint8)
    return promote_to_float32(x)


# --- integers --------------------------------------------------------------------------------


def to_integer(x: Array, to: DataType) -> Array:
    """x without fraction, wrapped around to the bits of `to`."""
    if x.dtype.kind != "f":
        return x.astype(to.numpy)
    if to is DataType.UINT64:
        high = x >= 2.0**63
        return to_int64(np.where(high, x - x.dtype.type(2.0**63), x)).astype(np.uint64) ^ high.astype(
            np.uint64
        ) << np.uint64(63)
    whole = to_int64(x) if to.bits == 64 or to is DataType.UINT32 else to_int32(x)
    return whole.astype(to.numpy)


def to_int64(x: Array) -> NDArray[np.int64]:
    return truncate_float(x, np.int64, 63)


def to_int32(x: Array) -> NDArray[np.int32]:
    return truncate_float(x, np.int32, 31)


def truncate_float(x: Array, dtype: type[np.int32] | type[np.int64], bits: int) -> Array:
    """x without fraction; numbers outside of [-2**bits, 2**bits), and NaN, become the lowest number, -2**bits."""
    whole = np.trunc(x)
    inside = (whole >= -(2.0**bits)) & (whole < 2.0**bits)
    return (whole if inside.all() else np.where(inside, whole, -(2.0**bits))).astype(dtype)


# --- floats ----------------------------------------------------------------------------------


def to_float(x: Array, to: DataType, rule: CastRule) -> Array:
    """x rounded once to the nearest number of `to`, ties to even."""
    if to in IEEE:
        return x.astype(to.numpy)
    odd = odd_float32(x)
    if to is DataType.FLOAT8E8M0:
        return to_power(odd, rule)
    result = odd.astype(to.numpy)
    if to in MAX_FINITE and rule.saturate:
        return saturate_overflow(odd, result, to, rule)
    if to in WITHOUT_NAN and (is_nan := np.isnan(odd)).any():
        return np.where(is_nan, np.float32(-0.0), result.astype(np.float32)).astype(to.numpy)
    return result


def odd_float32(x: Array) -> NDArray[np.float32]:
    """x as float32, rounded to odd (see the head of this file)."""
    if x.dtype == np.float32:
        return x
    if x.dtype.kind in "iu" and x.dtype.itemsize == 8:
        x = odd_float64(x)
    near = x.astype(np.float32)
    if x.dtype.itemsize < 4:  # such numbers are exact in float32
        return near
    wide = x.astype(np.float64)
    error = np.abs(near.astype(np.float64)) - np.abs(wide)
    inexact = (error != 0) & np.isfinite(wide)
    # Subtracting 1 from the bits undoes rounding away from zero; setting the last bit makes the number odd.
    return ((near.view(np.uint32) - (inexact & (error > 0))) | inexact).astype(np.uint32).view(np.float32)


def odd_float64(x: Array) -> NDArray[np.float64]:
    """Integers of 64 bits as float64, rounded to odd where they have more than 53 bits."""
    negative = x < 0
    bits = x.view(np.uint64)
    magnitude = np.where(negative, -bits, bits)
    low = np.uint64((1 << 11) - 1)  # float64 holds 53 of 64 bits: the low 11 may be lost
    sticky = ((magnitude & low) != 0).astype(np.uint64) << np.uint64(11)
    rounded = np.where(magnitude >> np.uint64(53), (magnitude & ~low) | sticky, magnitude).astype(np.float64)
    return np.where(negative, -rounded, rounded)


def saturate_overflow(x: Array, result: Array, to: DataType, rule: CastRule) -> Array:
    """The result with overflows replaced by the largest finite number, with the sign of x."""
    wide = result.astype(np.float32)
    large = ~np.isfinite(wide) & ~np.isnan(x)
    if to in FNUZ_TYPES and not rule.infinity_saturates:
        large &= np.isfinite(x)
    if not large.any():
        return result
    return np.where(large, np.copysign(np.float32(MAX_FINITE[to]), x), wide).astype(to.numpy)


def to_power(x: NDArray[np.float32], rule: CastRule) -> Array:
    """x as float8e8m0: powers of two from 2 ** -127 to 2 ** 127, whose codes go from 0 to 254; 255 is NaN."""
    fraction, power = np.frexp(x.astype(np.float64))  # x = fraction * 2 ** power, 0.5 <= fraction < 1
    threshold = ROUND_MODES.get(rule.round_mode)
    if threshold is None:
        raise EvaluationError(f"round_mode must be up, down or nearest; got {rule.round_mode!r}")
    code = power + 126 + (fraction >= threshold)
    code = np.where(x < 2.0**-127, 0 if rule.saturate else 255, code)
    code = np.where(x > 2.0**127, 254 if rule.saturate else 255, code)
    return np.where(x >= 0, code, 255).astype(np.uint8).view(DataType.FLOAT8E8M0.numpy)

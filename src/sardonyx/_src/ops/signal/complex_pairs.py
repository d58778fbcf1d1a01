"""Complex numbers as pairs of real numbers along the last axis.

Doubles are computed as complex128 and all other floats as complex64; results are rounded once.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type


def as_complex(x: Array) -> Array:
    """x, real [..., 1] or complex [..., 2], as complex64 or complex128 [...]; raises EvaluationError for another last axis."""
    if x.ndim < 2 or x.shape[-1] not in (1, 2):
        raise EvaluationError(
            f"the input must have rank >= 2 and a last axis of size 1 or 2; got shape {list(x.shape)}"
        )
    wide = promote_to_float32(x)
    result = np.zeros(x.shape[:-1], np.result_type(wide.dtype, np.complex64))
    result.real = wide[..., 0]
    if x.shape[-1] == 2:
        result.imag = wide[..., 1]
    return result


def as_pairs(z: Array, dtype: np.dtype[np.generic]) -> Array:
    """The complex array z [...] as pairs, [..., 2] of the float type `dtype`."""
    return round_to_type(np.stack([z.real, z.imag], -1), dtype)

"""Complex numbers as the operators have them: pairs of real numbers along the last axis.

Doubles are computed as such, all other floats as float32, and rounded once.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.arithmetic import narrow, widen


def as_complex(x: Array) -> Array:
    """x [..., 1] real or [..., 2] complex as complex64 or complex128 [...]; EvaluationError for another last axis."""
    if x.ndim < 2 or x.shape[-1] not in (1, 2):
        raise EvaluationError(
            f"the input has shape {list(x.shape)}, where a last axis of 1 or 2 behind another one is wanted"
        )
    wide = widen(x)
    result = np.zeros(x.shape[:-1], np.result_type(wide.dtype, np.complex64))
    result.real = wide[..., 0]
    if x.shape[-1] == 2:
        result.imag = wide[..., 1]
    return result


def as_pairs(z: Array, dtype: np.dtype[np.generic]) -> Array:
    """z [...] complex as [..., 2] of the float type `dtype`."""
    return narrow(np.stack([z.real, z.imag], -1), dtype)

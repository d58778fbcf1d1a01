"""Pow: X to the power Y, in X's element type.

Spec: ai.onnx Pow-1, -7, -12, -13, -15.  1 stretches Y alone, as `broadcast` and `axis` say; 7 broadcasts both.  12
allows integers for X and any number for Y, whose type may be another one; 13 adds bfloat16 to X, 15 to Y.
Integers to powers of integers wrap around.  A result that is no integer is rounded toward zero in an X of integers.
"""

from __future__ import annotations

import numpy as np

from sardonyx.errors import EvaluationError
from sardonyx.ir.dims import Dim
from sardonyx.ir.dims import Known as KnownDim
from sardonyx.ir.tensors import Array
from sardonyx.ir.types import TensorType
from sardonyx.ops.api import Operator
from sardonyx.ops.arithmetic import narrow, widen
from sardonyx.ops.inference import Inference, Result
from sardonyx.ops.math.limited_broadcast import limited, limited_broadcasting
from sardonyx.ops.math.symbolic import arithmetic
from sardonyx.ops.shapes import broadcast

op = Operator("Pow", tolerance="rounding", elementwise=True)
op.infer(1)(limited_broadcasting())
MOST = 4  # the greatest power of an expression that is written out


@op.infer(7, 12, 13, 15)
def infer(t: Inference) -> Result:
    shape, dtype = broadcast(t, [t.shape(0), t.shape(1)]), t.dtype(0)
    return None if dtype is None else TensorType(dtype, shape)


@op.eval(7, 12, 13, 15)
def eval_7(X: Array, Y: Array) -> Array:
    """X: numbers; Y: numbers of any type; result: X's type.  Computed in the wider of both, at least float32."""
    if X.dtype.kind not in "iu":
        return narrow(np.asarray(np.power(widen(X), widen(Y))), X.dtype)
    return integer_power(X, Y) if Y.dtype.kind in "iu" else truncated_power(X, Y)


op.eval(1)(limited(eval_7))


def integer_power(X: Array, Y: Array) -> Array:
    """Integers to powers of integers, modulo 2 to the number of bits."""
    X, Y = np.broadcast_arrays(X, Y)
    negative = Y < 0
    if np.any(negative & (X == 0)):
        raise EvaluationError("0 to a negative power is no integer; use floats")
    bits = np.power(X.astype(np.uint64), np.where(negative, 0, Y).astype(np.uint64))
    inverse = np.where(X == 1, 1, np.where(X == -1, 1 - 2 * (Y & 1).astype(np.int64), 0))
    return np.where(negative, inverse.astype(X.dtype), bits.astype(X.dtype))


def truncated_power(X: Array, Y: Array) -> Array:
    """Integers to powers of floats, rounded toward zero; EvaluationError for a result beyond X's type."""
    power = np.asarray(np.trunc(np.power(X.astype(np.float64), Y.astype(np.float64))))
    least = float(np.iinfo(X.dtype).min)
    beyond = ~((power >= least) & (power < -least))  # NaN included
    if np.any(beyond):
        what = f"{X.dtype} to the power of {Y.dtype} gives {power[beyond][0]}"
        raise EvaluationError(f"{what}, which {X.dtype} does not hold; use floats for X")
    return power.astype(X.dtype)


def small_power(a: KnownDim, b: KnownDim) -> Dim:
    """a to the power of a small number b, written out."""
    if not isinstance(b, int) or not 0 <= b <= MOST:
        return None
    result: KnownDim = 1
    for _ in range(b):
        result = result * a
    return result


op.value(1, 7, 12, 13, 15)(arithmetic(small_power))

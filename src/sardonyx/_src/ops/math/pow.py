"""Pow: X to the power Y, in X's element type.

Spec: ai.onnx Pow-1, -7, -12, -13, -15.  1 broadcasts only Y, as `broadcast` and `axis` say; 7 broadcasts both.  12
allows integers for X, and for Y numbers of another type than X; 13 adds bfloat16 to X, 15 to Y.  Integers to powers of
integers wrap around; if X is of integers and Y of floats, results are rounded toward zero.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.dims import Known as KnownDim
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.math.legacy_broadcast import infer_legacy_broadcast, wrap_legacy_broadcast
from sardonyx._src.ops.math.legacy_broadcast_steps import adapt_to_broadcast, make_legacy_adapter
from sardonyx._src.ops.math.symbolic import arithmetic
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.support.promotion import cast
from sardonyx._src.ops.support.shapes import broadcast
from sardonyx._src.ops.traits import LegacyBroadcast
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator(
    "Pow", tolerance="rounding", elementwise=True, legacy_broadcast=LegacyBroadcast("one_way", last_opset=6)
)
op.infer(1)(infer_legacy_broadcast())
MAX_EXPANDED_POWER = 4  # the greatest power that is expanded to products


@op.infer(7, 12, 13, 15)
def infer(inference: Inference) -> Result:
    shape, dtype = broadcast(inference, [inference.shape(0), inference.shape(1)]), inference.dtype(0)
    return None if dtype is None else TensorType(dtype, shape)


@op.convert((15, 13))
def to_13(adapter: Adapter) -> AdaptedNode:
    if adapter.inference.dtype(1) is not DataType.BFLOAT16:
        return adapter.same()
    return adapter.same([adapter.input(0), cast(adapter, adapter.input(1), DataType.FLOAT)])


@op.convert((12, 7))
def to_7(adapter: Adapter) -> AdaptedNode:
    """Version 7 requires floats of one type: other floats are computed in double.

    For an X of integers, whose powers wrap around, a known small power is expanded to Mul.
    """
    X, Y, dtype = adapter.input(0), adapter.input(1), adapter.dtype(0)
    if dtype is adapter.dtype(1) and not dtype.is_integer:
        return adapter.same()
    if not dtype.is_integer:
        return cast(
            adapter, adapter.Pow(cast(adapter, X, DataType.DOUBLE), cast(adapter, Y, DataType.DOUBLE)), dtype
        )
    power = adapter.inference.constant(1)
    if power is None or power.ndim or not 1 <= power <= MAX_EXPANDED_POWER or power != int(power):
        adapter.refuse(
            f"X is of integers, and only a known scalar Y from 1 to {MAX_EXPANDED_POWER} can be written out"
        )
    result = X
    for _ in range(int(power) - 1):
        result = adapter.Mul(result, X)
    return adapter.Identity(X) if result is X else result


@op.eval(7, 12, 13, 15)
def eval_7(X: Array, Y: Array) -> Array:
    """X: numbers; Y: numbers of any type; result: X's type.  Computed in the wider of both, at least float32."""
    if X.dtype.kind not in "iu":
        return round_to_type(np.asarray(np.power(promote_to_float32(X), promote_to_float32(Y))), X.dtype)
    return integer_power(X, Y) if Y.dtype.kind in "iu" else truncated_power(X, Y)


op.eval(1)(wrap_legacy_broadcast(eval_7))
op.convert((1, 7))(adapt_to_broadcast)
op.convert((7, 1))(make_legacy_adapter())


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
    """Integers to powers of floats, rounded toward zero; raises EvaluationError if X's type cannot hold a result."""
    power = np.asarray(np.trunc(np.power(X.astype(np.float64), Y.astype(np.float64))))
    lowest = float(np.iinfo(X.dtype).min)
    beyond = ~((power >= lowest) & (power < -lowest))  # NaN included
    if np.any(beyond):
        what = f"{X.dtype} to the power of {Y.dtype} gives {power[beyond][0]}"
        raise EvaluationError(f"{what}, which {X.dtype} does not hold; use floats for X")
    return power.astype(X.dtype)


def small_power(a: KnownDim, b: KnownDim) -> Dim:
    """a to the power b as a product of b factors; None unless b is a number from 0 to MAX_EXPANDED_POWER."""
    if not isinstance(b, int) or not 0 <= b <= MAX_EXPANDED_POWER:
        return None
    result: KnownDim = 1
    for _ in range(b):
        result = result * a
    return result


op.value(1, 7, 12, 13, 15)(arithmetic(small_power))

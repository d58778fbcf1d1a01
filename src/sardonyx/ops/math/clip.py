"""Clip: elements kept within limits; `max` wins where it is below `min`.

Spec: ai.onnx Clip-1, -6, -11, -12, -13.  The limits are attributes in 1 and 6, scalar inputs from 11 on.  12 adds
integers, 13 bfloat16 and the rule for limits that cross, of which the others do not speak.  A limit left out is the
element type's least or greatest number, so that infinities are clipped; in 6 the default is that of float.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from sardonyx.errors import EvaluationError
from sardonyx.ir.tensors import Array
from sardonyx.ops.api import Operator
from sardonyx.ops.arithmetic import is_float
from sardonyx.ops.body_text import element_type, scalar
from sardonyx.ops.inference import Inference, Result
from sardonyx.ops.math.elementwise import in_own_type
from sardonyx.ops.shapes import same_tensor

op = Operator("Clip", elementwise=True)
op.infer(1, 6)(same_tensor)


@op.infer(11, 12, 13)
def infer(t: Inference) -> Result:
    for i, name in ((1, "min"), (2, "max")):
        wide = [d for d in t.shape(i) or () if isinstance(d, int) and d != 1]
        if wide:
            t.fail(f"{name} has an axis of size {wide[0]}; it has to be a scalar")
    return same_tensor(t)


@op.eval(11, 12, 13)
def eval_11(input: Array, min: Array | None = None, max: Array | None = None) -> Array:
    """min, max: one element of input's type."""
    least, greatest = extremes(input.dtype)
    low = least if min is None else one_element(min, "min")
    high = greatest if max is None else one_element(max, "max")
    return clipped(input, low, high)


@op.eval(6)
@op.eval(1, ignores=("consumed_inputs",))
def eval_1(input: Array, *, min: float | None = None, max: float | None = None) -> Array:
    least, greatest = extremes(input.dtype)
    low = least if min is None else np.asarray(min, np.float32)
    high = greatest if max is None else np.asarray(max, np.float32)
    return clipped(input, low, high)


@in_own_type
def clipped(x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low.astype(x.dtype)), high.astype(x.dtype))


def one_element(limit: Array, name: str) -> Array:
    """The limit as a scalar; files with a vector of one element exist."""
    if limit.size != 1:
        raise EvaluationError(f"{name} has shape {list(limit.shape)}; it has to be a scalar")
    return limit.reshape(())


def extremes(dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """The least and the greatest finite number of the type."""
    info = ml_dtypes.finfo(dtype) if is_float(dtype) else np.iinfo(dtype)
    return np.asarray(info.min, dtype), np.asarray(info.max, dtype)


@op.body(13, opset=13)
def body(t: Inference) -> str:
    dtype = element_type(t)
    low, high = "min" if t.has(1) else "least", "max" if t.has(2) else "greatest"
    ends = zip(("least", "greatest"), extremes(dtype.numpy), strict=True)
    needed = [f"{name} = {scalar(end.item(), dtype)}" for name, end in ends if name in (low, high)]
    return f"""(x, min, max) => (y) {{
      {" ".join(needed)}
      raised = Max(x, {low})
      y = Min(raised, {high})
    }}"""

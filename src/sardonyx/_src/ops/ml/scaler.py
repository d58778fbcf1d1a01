"""Scaler: (x - offset) * scale, for each feature.

Spec: ai.onnx.ml Scaler-1.  A list that is left out changes nothing.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result

op = Operator("Scaler", "ai.onnx.ml", tolerance="rounding")


@op.infer(1)
def infer(inference: Inference) -> Result:
    shape = inference.shape(0)
    lengths = [len(v) for v in map(inference.attributes.get, ("offset", "scale")) if isinstance(v, tuple)]
    if len(set(lengths)) > 1:
        inference.fail(f"offset and scale must be of one length; got {lengths[0]} and {lengths[1]}")
    for name in ("offset", "scale"):
        values = inference.attributes.get(name)
        if (
            isinstance(values, tuple)
            and shape
            and isinstance(shape[-1], int)
            and len(values) not in (1, shape[-1])
        ):
            inference.fail(f"{name} must have one element or {shape[-1]}; got {len(values)}")
    return TensorType(DataType.FLOAT, shape)


@op.eval(1)
def evaluate(
    X: Array, *, offset: tuple[float, ...] | None = None, scale: tuple[float, ...] | None = None
) -> Array:
    """X: [..., F], result: of its shape, float32; lists of F elements, or of one for all."""
    if offset is not None and scale is not None and len(offset) != len(scale):
        raise EvaluationError(f"offset and scale must be of one length; got {len(offset)} and {len(scale)}")
    x: Array = X.astype(np.float32 if X.dtype == np.float32 else np.float64)
    with np.errstate(all="ignore"):
        if offset is not None:
            x = x - by_feature(offset, x, "offset")
        if scale is not None:
            x = x * by_feature(scale, x, "scale")
        return x.astype(np.float32)


def by_feature(values: tuple[float, ...], x: Array, name: str) -> Array:
    if len(values) == 1:
        return np.array(values[0], x.dtype)
    if x.ndim == 0 or len(values) != x.shape[-1]:
        raise EvaluationError(
            f"{name} must have one element, or one for each feature of {list(x.shape)}; got {len(values)}"
        )
    return np.array(values, x.dtype)

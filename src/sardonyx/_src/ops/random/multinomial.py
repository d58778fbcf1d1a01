"""Multinomial: classes drawn with probabilities that are given as logarithms, up to a factor.

Spec: ai.onnx Multinomial-7, -22, which differ in element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.random.drawing import drawn_type, room, told

op = Operator("Multinomial", tolerance="random")
ALLOWED = (DataType.INT32, DataType.INT64)


@op.infer(7, 22)
def infer(t: Inference) -> Result:
    shape, count = t.shape(0), t.integer("sample_size")
    if shape is not None and len(shape) != 2:
        t.fail(f"the input has rank {len(shape)}, [batch, class] is wanted")
    if count < 0:
        t.fail(f"sample_size is {count}")
    return told(t, TensorType(DataType.INT32, (None if shape is None else shape[0], count)), ALLOWED)


@op.eval(7, 22)
def evaluate(input: Array, *, dtype: int, seed: float | None = None, sample_size: int, call: Call) -> Array:
    """input: [batch, class] float; result: [batch, sample_size] of numbers from 0 to class - 1."""
    wanted = drawn_type(dtype, None, ALLOWED)
    if input.ndim != 2:
        raise EvaluationError(f"the input has rank {input.ndim}, [batch, class] is wanted")
    shape = room((input.shape[0], sample_size), wanted, call)
    bounds = cumulated(input.astype(np.float64))
    drawn = call.generator(seed).random(shape)
    rows = [np.searchsorted(bound, row, side="right") for bound, row in zip(bounds, drawn, strict=True)]
    return np.array(rows, wanted.numpy).reshape(shape)


def cumulated(logs: Array) -> Array:
    """The probability of each class or one before it: [batch, class], 1 in the end."""
    top = logs.max(axis=1, keepdims=True, initial=-np.inf)
    if not np.isfinite(top).all():
        raise EvaluationError("a batch has no class with a finite logarithm, or one that is NaN or infinite")
    sums = np.exp(logs - top).cumsum(axis=1)
    return sums / sums[:, -1:]

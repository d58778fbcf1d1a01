"""Multinomial: classes drawn with given log-probabilities, which need not be normalized.

Spec: ai.onnx Multinomial-7, -22, which differ in element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.random.drawing import check_shape, infer_result, sample_type

op = Operator("Multinomial", tolerance="random")
MULTINOMIAL_TYPES = (DataType.INT32, DataType.INT64)


@op.infer(7, 22)
def infer(inference: Inference) -> Result:
    shape, count = inference.shape(0), inference.integer("sample_size")
    if shape is not None and len(shape) != 2:
        inference.fail(f"the input must have rank 2 ([batch, class]); got rank {len(shape)}")
    if count < 0:
        inference.fail(f"sample_size must not be negative; got {count}")
    return infer_result(
        inference, TensorType(DataType.INT32, (None if shape is None else shape[0], count)), MULTINOMIAL_TYPES
    )


@op.eval(7, 22)
def evaluate(
    input: Array, *, dtype: int, seed: float | None = None, sample_size: int, context: RunContext
) -> Array:
    """input: [batch, class] float; result: [batch, sample_size] of numbers from 0 to class - 1."""
    result_type = sample_type(dtype, None, MULTINOMIAL_TYPES)
    if input.ndim != 2:
        raise EvaluationError(f"the input must have rank 2 ([batch, class]); got rank {input.ndim}")
    shape = check_shape((input.shape[0], sample_size), result_type, context)
    bounds = cumulate(input.astype(np.float64))
    drawn = context.random_state(seed).random_sample(shape)
    rows = [np.searchsorted(bound, row, side="right") for bound, row in zip(bounds, drawn, strict=True)]
    return np.array(rows, result_type.numpy).reshape(shape)


def cumulate(logs: Array) -> Array:
    """Cumulative probabilities of the classes: [batch, class]; the last one is 1."""
    top = logs.max(axis=1, keepdims=True, initial=-np.inf)
    if not np.isfinite(top).all():
        raise EvaluationError(
            "each batch must have finite logarithms, or -inf for some classes; got NaN, +inf or -inf alone"
        )
    sums = np.exp(logs - top).cumsum(axis=1)
    return sums / sums[:, -1:]

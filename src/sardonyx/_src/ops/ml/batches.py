"""Batches of rows of features, the input of operators of ai.onnx.ml: [N, C], or [C] for one row."""

from __future__ import annotations

import math

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.support.shapes import element_count


def rows(X: Array) -> Array:
    """X as [N, C]: a vector is one row, and axes after the second one are part of the row."""
    if X.ndim == 0:
        raise EvaluationError("X must be rows of features ([N, C] or [C]); got a scalar")
    return X.reshape(1, -1) if X.ndim == 1 else X.reshape(X.shape[0], math.prod(X.shape[1:]))


def batch(inference: Inference) -> tuple[Dim, Dim]:
    """The number of rows of input 0 and their length."""
    shape = inference.shape(0)
    if shape is None:
        return None, None
    if not shape:
        inference.fail("input 0 must be rows of features ([N, C] or [C]); got a scalar")
    return (1, shape[0]) if len(shape) == 1 else (shape[0], element_count(shape[1:]))

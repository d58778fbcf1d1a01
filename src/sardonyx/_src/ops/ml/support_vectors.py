"""Kernel functions of rows of features and support vectors.

Spec: SVMClassifier-1 and SVMRegressor-1 only name the kernels; they are computed as in LIBSVM.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.ml.class_labels import count
from sardonyx._src.ops.ml.post_transforms import Scores

KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def similarities(rows: Array, vectors: Scores, kernel_type: str, kernel_params: Sequence[float]) -> Scores:
    """rows: [N, C], vectors: [V, C], result: [N, V]; kernel_params: gamma, coef0 and degree."""
    if kernel_type not in KERNELS:
        raise EvaluationError(f"kernel_type must be one of {', '.join(KERNELS)}; got {kernel_type!r}")
    x = rows.astype(np.float64)
    with np.errstate(all="ignore"):
        products = x @ vectors.T
        if kernel_type == "LINEAR":
            return products
        check_kernel(kernel_type, len(kernel_params))
        gamma, coef0, degree = kernel_params
        if kernel_type == "POLY":
            return (gamma * products + coef0) ** degree
        if kernel_type == "SIGMOID":
            return np.tanh(gamma * products + coef0)
        distances = (x * x).sum(axis=1)[:, np.newaxis] + (vectors * vectors).sum(axis=1) - 2 * products
        return np.exp(-gamma * np.maximum(distances, 0))


def check_kernel(kernel_type: str, params: int) -> None:
    """Raises EvaluationError for a kernel without its parameters."""
    if kernel_type != "LINEAR" and params != 3:
        raise EvaluationError(f"kernel_params must have 3 elements (gamma, coef0, degree); got {params}")


def check_count(inference: Inference, name: str, expected: Dim) -> None:
    """Raises InferenceError if a list has another length than `expected`."""
    actual = count(inference.attributes, name)
    if isinstance(expected, int) and actual != expected:
        inference.fail(f"{name} must have {expected} elements; got {actual}")


def matrix(values: Sequence[float], rows: int, columns: int, name: str) -> Scores:
    """A list as a matrix; raises EvaluationError unless it has rows * columns elements."""
    if len(values) != rows * columns:
        raise EvaluationError(f"{name} must have {rows} * {columns} elements; got {len(values)}")
    return np.array(values, np.float64).reshape(rows, columns)

"""Support vectors: how similar rows of features are to them.

Spec: SVMClassifier-1 and SVMRegressor-1 name the kernels; what they compute is LIBSVM's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.ml.class_labels import count
from sardonyx._src.ops.ml.post_transforms import Scores

KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def similarities(rows: Array, vectors: Scores, kernel_type: str, kernel_params: Sequence[float]) -> Scores:
    """rows: [N, C], vectors: [V, C], result: [N, V]; kernel_params: gamma, coef0 and degree."""
    if kernel_type not in KERNELS:
        raise EvaluationError(f"kernel_type is {kernel_type!r}, where {', '.join(KERNELS)} are known")
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
    """Raises EvaluationError for a kernel that has not its parameters."""
    if kernel_type != "LINEAR" and params != 3:
        raise EvaluationError(
            f"kernel_params has {params} elements, where gamma, coef0 and degree are wanted"
        )


def check_count(t: Inference, name: str, wanted: Dim) -> None:
    """Raises InferenceError where a list has not the wanted length."""
    found = count(t.attributes, name)
    if isinstance(wanted, int) and found != wanted:
        t.fail(f"{name} has {found} elements, where {wanted} are wanted")


def matrix(values: Sequence[float], rows: int, columns: int, name: str) -> Scores:
    """A list as matrix; raises EvaluationError when it has not so many elements."""
    if len(values) != rows * columns:
        raise EvaluationError(f"{name} has {len(values)} elements, where {rows} times {columns} are wanted")
    return np.array(values, np.float64).reshape(rows, columns)

"""Matrix products of quantized numbers minus their zero points, computed exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, TensorType
from sardonyx._src.ops.inference import Inference


def product(a: Array, a_zero_point: Array, b: Array, b_zero_point: Array) -> NDArray[np.float64]:
    """(a - a_zero_point) @ (b - b_zero_point), broadcast as by numpy.matmul.

    The zero points have been reshaped by `by_row` and `by_column`.
    Differences of 8-bit integers have 9 bits, and their products 18: float64 adds up 2 ** 35 of these exactly.
    """
    if a.ndim == 0 or b.ndim == 0 or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise EvaluationError(
            f"a and b must agree in the reduced dimension; got shapes {list(a.shape)} and {list(b.shape)}"
        )
    left = a.astype(np.float64) - a_zero_point.astype(np.float64)
    right = b.astype(np.float64) - b_zero_point.astype(np.float64)
    with np.errstate(all="ignore"):
        return np.matmul(left, right)


def by_row(parameter: Array, shape: tuple[int, ...], name: str) -> Array:
    """A scale or zero point of the left matrix: one, one for each row ([M]), or [..., M, 1]."""
    if parameter.size == 1:
        return parameter.reshape(())
    rows = shape[-2:-1]
    if rows and parameter.shape == rows:
        return parameter.reshape(-1, 1)
    return check_shape(parameter, (*shape[:-1], 1), name, rows)


def by_column(parameter: Array, shape: tuple[int, ...], name: str) -> Array:
    """A scale or zero point of the right matrix: one, one for each column ([N]), or [..., 1, N]."""
    if parameter.size == 1:
        return parameter.reshape(())
    columns = shape[-1:] if len(shape) > 1 else ()
    if columns and parameter.shape == columns:
        return parameter
    return check_shape(parameter, (*shape[:-2], 1, *columns), name, columns)


def check_rows(inference: Inference, i: int, matrix: int, name: str) -> None:
    """Raises InferenceError if `by_row` would reject input i for the left matrix, input `matrix`."""
    shape = inference.shape(matrix)
    if shape is not None:
        check_fits(inference, i, [shape[-2:-1], (*shape[:-1], 1)] if len(shape) > 1 else [], name)


def check_columns(inference: Inference, i: int, matrix: int, name: str) -> None:
    """Raises InferenceError if `by_column` would reject input i for the right matrix, input `matrix`."""
    shape = inference.shape(matrix)
    if shape is not None:
        check_fits(inference, i, [shape[-1:], (*shape[:-2], 1, *shape[-1:])] if len(shape) > 1 else [], name)


def check_fits(inference: Inference, i: int, expected: list[Shape], name: str) -> None:
    """Raises InferenceError if input i can neither have one element nor one of the `expected` shapes."""
    shape = inference.shape(i)
    if shape is None or all(n == 1 or not isinstance(n, int) for n in shape):
        return
    if not any(may_be(shape, candidate) for candidate in expected):
        shapes = " or ".join(
            ["one element", *(str(TensorType(DataType.FLOAT, candidate))[5:] for candidate in expected)]
        )
        inference.fail(f"{name} must have {shapes}; got {inference.type(i)}")


def may_be(shape: Shape, expected: Shape) -> bool:
    """Whether the two shapes may be equal, as far as they are known."""
    pairs = zip(shape, expected, strict=False)
    return len(shape) == len(expected) and all(
        n == m for n, m in pairs if isinstance(n, int) and isinstance(m, int)
    )


def check_shape(parameter: Array, full: tuple[int, ...], name: str, vector: tuple[int, ...]) -> Array:
    """The parameter; raises EvaluationError unless its shape is `full`.

    `vector` is the shape of a vector that the caller has accepted already; () if the operand is no matrix.
    """
    if parameter.shape != full or not vector:
        expected = f"a scalar or have shape {list(vector)} or {list(full)}" if vector else "a scalar"
        raise EvaluationError(f"{name} must be {expected}; got shape {list(parameter.shape)}")
    return parameter

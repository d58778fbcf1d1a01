"""Matrix products of quantized numbers less their zero points, exact before anything is rounded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.inference import Inference


def product(a: Array, a_zero_point: Array, b: Array, b_zero_point: Array) -> NDArray[np.float64]:
    """(a - a_zero_point) @ (b - b_zero_point) as numpy.matmul has it; zero points as `by_row` and `by_column` give them.

    Differences of 8-bit integers have 9 bits, their products 18, and float64 adds up 2 ** 35 of those exactly; what
    float8 needs is of the same kind.
    """
    if a.ndim == 0 or b.ndim == 0 or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise EvaluationError(
            f"a of shape {list(a.shape)} and b of shape {list(b.shape)} have no matrix product"
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
    return checked(parameter, (*shape[:-1], 1), name, rows)


def by_column(parameter: Array, shape: tuple[int, ...], name: str) -> Array:
    """A scale or zero point of the right matrix: one, one for each column ([N]), or [..., 1, N]."""
    if parameter.size == 1:
        return parameter.reshape(())
    columns = shape[-1:] if len(shape) > 1 else ()
    if columns and parameter.shape == columns:
        return parameter
    return checked(parameter, (*shape[:-2], 1, *columns), name, columns)


def check_rows(t: Inference, i: int, matrix: int, name: str) -> None:
    """Raises InferenceError where input i is known not to be what `by_row` takes for the left matrix."""
    shape = t.shape(matrix)
    if shape is not None:
        check_fits(t, i, [shape[-2:-1], (*shape[:-1], 1)] if len(shape) > 1 else [], name)


def check_columns(t: Inference, i: int, matrix: int, name: str) -> None:
    """Raises InferenceError where input i is known not to be what `by_column` takes for the right matrix."""
    shape = t.shape(matrix)
    if shape is not None:
        check_fits(t, i, [shape[-1:], (*shape[:-2], 1, *shape[-1:])] if len(shape) > 1 else [], name)


def check_fits(t: Inference, i: int, wanted: list[Shape], name: str) -> None:
    shape = t.shape(i)
    if shape is None or all(n == 1 or not isinstance(n, int) for n in shape):
        return
    if not any(may_be(shape, one) for one in wanted):
        shapes = " or ".join(["one element", *(str(TensorType(DataType.FLOAT, one))[5:] for one in wanted)])
        t.fail(f"{name} is {t.type(i)}, where {shapes} is wanted")


def may_be(shape: Shape, wanted: Shape) -> bool:
    """Whether the two may be the same, for all that is known."""
    pairs = zip(shape, wanted, strict=False)
    return len(shape) == len(wanted) and all(
        n == m for n, m in pairs if isinstance(n, int) and isinstance(m, int)
    )


def checked(parameter: Array, whole: tuple[int, ...], name: str, line: tuple[int, ...]) -> Array:
    if parameter.shape != whole or not line:
        wanted = f"a scalar, {list(line)} or {list(whole)} is" if line else "a scalar is"
        raise EvaluationError(f"{name} has shape {list(parameter.shape)}, where {wanted} wanted")
    return parameter

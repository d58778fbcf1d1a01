"""Shared by the normalizations: statistics, the precision of the first stage, parameters per channel.

"Stage one" is the specification's name for the computation of mean and variance; `stash_type` is its precision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.support.body_text import rank_of

STASH_TYPES = {d.value: d for d in (DataType.FLOAT, DataType.FLOAT16, DataType.DOUBLE, DataType.BFLOAT16)}


def stage_one_type(stash_type: int) -> np.dtype[Any]:
    """The element type that `stash_type` numbers; raises EvaluationError unless it is a float of 16 bits or more."""
    dtype = STASH_TYPES.get(stash_type)
    if dtype is None:
        named = ", ".join(f"{number} ({d.text})" for number, d in STASH_TYPES.items())
        raise EvaluationError(f"stash_type must be one of {named}; got {stash_type}")
    return dtype.numpy


def round_and_promote(x: Array, dtype: np.dtype[Any]) -> Array:
    """x rounded to `dtype`, then promoted to the type of the computation: float64 for double, else float32."""
    cast = x.astype(dtype, copy=False)
    return cast if dtype == np.float64 else cast.astype(np.float32, copy=False)


def mean_of(x: Array, axes: tuple[int, ...]) -> Array:
    """The mean of x along `axes`, kept as axes of size 1; NaN if they are empty."""
    count = math.prod(x.shape[axis] for axis in axes)
    return x.sum(axes, keepdims=True) / x.dtype.type(count)


def moments(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """The mean and the population variance of x along `axes`, kept as axes of size 1."""
    mean = mean_of(x, axes)
    return mean, mean_of(np.square(x - mean), axes)


def standardize(x: Array, axes: tuple[int, ...], epsilon: float) -> tuple[Array, Array, Array]:
    """x normalized to mean 0 and variance 1 along `axes`; the mean; the reciprocal standard deviation."""
    mean = mean_of(x, axes)
    deviation = x - mean
    variance = mean_of(np.square(deviation), axes)
    inverse = 1 / np.sqrt(variance + x.dtype.type(epsilon))
    deviation *= inverse
    return deviation, mean, inverse


def by_channel(values: Array, name: str, shape: Sequence[int]) -> Array:
    """values [C] reshaped to broadcast over `shape` [N, C, *spatial]; raises EvaluationError for another shape."""
    if values.shape != (shape[1],):
        raise EvaluationError(f"{name} must have shape [{shape[1]}]; got {list(values.shape)}")
    return values.reshape(-1, *(1,) * (len(shape) - 2))


def check_broadcast(values: Array, name: str, x: Array) -> Array:
    """values, which must broadcast to the shape of x without changing it; raises EvaluationError."""
    padded = (1,) * (x.ndim - values.ndim) + values.shape
    if values.ndim > x.ndim or any(a not in (1, b) for a, b in zip(padded, x.shape, strict=True)):
        raise EvaluationError(f"{name} must broadcast to {list(x.shape)}; got shape {list(values.shape)}")
    return values


# --- inference -------------------------------------------------------------------------------


def check_channels(inference: Inference, inputs: Sequence[int], expected: Dim) -> None:
    """Raises InferenceError when one of `inputs` is known not to have shape [expected]."""
    for i in inputs:
        shape = inference.shape(i)
        if shape is None:
            continue
        if len(shape) != 1:
            inference.fail(f"input {i} must be a vector; got rank {len(shape)}")
        if isinstance(shape[0], int) and isinstance(expected, int) and shape[0] != expected:
            inference.fail(f"input {i} must have {expected} elements; got {shape[0]}")
        inference.require_equal(expected, shape[0])


def check_broadcasts(inference: Inference, inputs: Sequence[int]) -> None:
    """Raises InferenceError when one of `inputs` is known not to broadcast to the shape of input 0."""
    target = inference.shape(0)
    for i in inputs:
        shape = inference.shape(i)
        if shape is None or target is None:
            continue
        if len(shape) > len(target):
            inference.fail(
                f"input {i} must have rank <= {len(target)}; got rank {len(shape)}",
                about="broadcast",
            )
        for actual, expected in zip(reversed(shape), reversed(target), strict=False):
            inference.require_broadcast(actual, expected)
            if isinstance(actual, int) and isinstance(expected, int) and actual not in (1, expected):
                inference.fail(
                    f"sizes of input {i} must be 1 or {expected}; got {actual}",
                    about="broadcast",
                )


def stage_one(inference: Inference) -> DataType:
    """The element type that `stash_type` numbers; raises InferenceError unless it is a float of 16 bits or more."""
    number = inference.integer("stash_type")
    return STASH_TYPES.get(number) or inference.fail(
        f"stash_type must be a float type of at least 16 bits; got {number}"
    )


def inner_axes(inference: Inference) -> range:
    """The axes from `axis` to the last one as negative numbers, so that a negative `axis` needs no rank.

    Raises InferenceError where `axis` is not negative and the rank is unknown.
    """
    axis = inference.integer("axis")
    return range(axis if axis < 0 else inference.axis(axis, rank_of(inference)) - rank_of(inference), 0)

"""What the normalizations share: statistics, precision of the two stages, parameters by channel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.body_text import rank_of
from sardonyx._src.ops.inference import Inference

STAGE_ONE = {d.value: d for d in (DataType.FLOAT, DataType.FLOAT16, DataType.DOUBLE, DataType.BFLOAT16)}


def stage_one_type(stash_type: int) -> np.dtype[Any]:
    """The element type that `stash_type` numbers; raises EvaluationError unless it is a float of 16 bits or more."""
    found = STAGE_ONE.get(stash_type)
    if found is None:
        named = ", ".join(f"{number} ({d.text})" for number, d in STAGE_ONE.items())
        raise EvaluationError(f"stash_type is {stash_type}, not one of {named}")
    return found.numpy


def working(x: Array, dtype: np.dtype[Any]) -> Array:
    """x with the values that `dtype` has, in a type wide enough to compute in: float64 for double, else float32."""
    cast = x.astype(dtype, copy=False)
    return cast if dtype == np.float64 else cast.astype(np.float32, copy=False)


def mean_of(x: Array, axes: tuple[int, ...]) -> Array:
    """The mean of x along `axes`, which stay as axes of size 1; NaN of nothing."""
    count = math.prod(x.shape[axis] for axis in axes)
    return x.sum(axes, keepdims=True) / x.dtype.type(count)


def moments(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """The mean and the population variance of x along `axes`, which stay as axes of size 1."""
    mean = mean_of(x, axes)
    return mean, mean_of(np.square(x - mean), axes)


def standardized(x: Array, axes: tuple[int, ...], epsilon: float) -> tuple[Array, Array, Array]:
    """x with mean 0 and variance 1 along `axes`; the mean; one over the standard deviation."""
    mean = mean_of(x, axes)
    deviation = x - mean
    variance = mean_of(np.square(deviation), axes)
    inverse = 1 / np.sqrt(variance + x.dtype.type(epsilon))
    deviation *= inverse
    return deviation, mean, inverse


def by_channel(values: Array, name: str, shape: Sequence[int]) -> Array:
    """values [C] so that they broadcast over a tensor of `shape` [N, C, *spatial]; raises EvaluationError."""
    if values.shape != (shape[1],):
        raise EvaluationError(f"{name} has shape {list(values.shape)}, [{shape[1]}] is wanted")
    return values.reshape(-1, *(1,) * (len(shape) - 2))


def fitting(values: Array, name: str, x: Array) -> Array:
    """values, which must broadcast to the shape of x without changing it; raises EvaluationError."""
    padded = (1,) * (x.ndim - values.ndim) + values.shape
    if values.ndim > x.ndim or any(a not in (1, b) for a, b in zip(padded, x.shape, strict=True)):
        what = f"{name} has shape {list(values.shape)}"
        raise EvaluationError(f"{what}, one that broadcasts to {list(x.shape)} is wanted")
    return values


# --- inference -------------------------------------------------------------------------------


def check_channels(t: Inference, inputs: Sequence[int], wanted: Dim) -> None:
    """Raises InferenceError when one of `inputs` is known not to be of shape [wanted]."""
    for i in inputs:
        shape = t.shape(i)
        if shape is None:
            continue
        if len(shape) != 1:
            t.fail(f"input {i} has rank {len(shape)}, a vector is wanted")
        if isinstance(shape[0], int) and isinstance(wanted, int) and shape[0] != wanted:
            t.fail(f"input {i} has {shape[0]} elements, {wanted} are wanted")


def check_fitting(t: Inference, inputs: Sequence[int]) -> None:
    """Raises InferenceError when one of `inputs` is known not to broadcast to the shape of input 0."""
    target = t.shape(0)
    for i in inputs:
        shape = t.shape(i)
        if shape is None or target is None:
            continue
        if len(shape) > len(target):
            t.fail(f"input {i} has rank {len(shape)}, the data have {len(target)}", about="broadcast")
        for given, wanted in zip(reversed(shape), reversed(target), strict=False):
            if isinstance(given, int) and isinstance(wanted, int) and given not in (1, wanted):
                t.fail(f"a size of {given} of input {i} does not broadcast to {wanted}", about="broadcast")


def stage_one(t: Inference) -> DataType:
    """The element type that `stash_type` numbers; raises InferenceError unless it is a float of 16 bits or more."""
    number = t.integer("stash_type")
    return STAGE_ONE.get(number) or t.fail(f"stash_type is {number}, which is no type to compute in")


def inner_axes(t: Inference) -> range:
    """The axes from `axis` to the last one, counted from the back; raises InferenceError where the rank is needed
    and not known."""
    axis = t.integer("axis")
    return range(axis if axis < 0 else t.axis(axis, rank_of(t)) - rank_of(t), 0)

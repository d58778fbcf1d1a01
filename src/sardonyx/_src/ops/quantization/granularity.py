"""Scales and zero points laid along the tensor that they belong to: one for all, one per index of an axis, one per block.

Spec: QuantizeLinear-21 and later, "quantization granularities"; DequantizeLinear refers to it.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import ceil_div
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.shapes import axis_of, product


def spread(parameter: Array, shape: tuple[int, ...], axis: int, block_size: int, name: str) -> Array:
    """parameter as an array that broadcasts against `shape`: that of the quantized tensor.

    One element is for the whole tensor whatever its rank, a vector for the indices of `axis` (which a tensor of rank 1
    need not name), and a tensor of the same rank for blocks of `block_size` along `axis`.
    Raises EvaluationError for any other shape.
    """
    if parameter.size == 1:
        return parameter.reshape(())
    if block_size > 0 and parameter.ndim == len(shape):
        return spread_blocks(parameter, shape, axis, block_size, name)
    if parameter.ndim != 1:
        what = f"{name} has shape {list(parameter.shape)}, where a scalar, a vector"
        raise EvaluationError(f"{what} or, with a block_size, blocks of shape {list(shape)} are wanted")
    along = 0 if len(shape) == 1 else axis_of(axis, len(shape))
    if parameter.shape[0] != shape[along]:
        what = f"{name} has {parameter.shape[0]} elements"
        raise EvaluationError(f"{what}, where axis {along} of shape {list(shape)} wants {shape[along]}")
    return parameter.reshape(-1, *(1,) * (len(shape) - along - 1))


def spread_blocks(parameter: Array, shape: tuple[int, ...], axis: int, block_size: int, name: str) -> Array:
    along = axis_of(axis, len(shape))
    wanted = (*shape[:along], -(-shape[along] // block_size), *shape[along + 1 :])
    if parameter.shape != wanted:
        what = f"{name} has shape {list(parameter.shape)}, where blocks of {block_size} along axis {along}"
        raise EvaluationError(f"{what} of shape {list(shape)} want {list(wanted)}")
    repeated = np.repeat(parameter, block_size, axis=along)
    return repeated[(slice(None),) * along + (slice(shape[along]),)]


def check_granularity(t: Inference, i: int) -> None:
    """Raises InferenceError when input i can be no scale or zero point of input 0."""
    parameter, shape = t.shape(i), t.shape(0)
    axis, block_size = t.integer("axis", 1), t.integer("block_size", 0)
    if block_size < 0:
        t.fail(f"block_size is {block_size}, where a positive number or none is wanted")
    if parameter is None or shape is None or all(d == 1 for d in parameter):
        return
    if block_size > 0 and len(parameter) == len(shape):
        along = t.axis(axis, len(shape))
        size = shape[along]
        blocks = None if size is None else ceil_div(size, block_size)
        wanted = (*shape[:along], blocks, *shape[along + 1 :])
    elif len(parameter) == 1:
        wanted = (shape[0 if len(shape) == 1 else t.axis(axis, len(shape))],)
    elif any(isinstance(d, int) and d != 1 for d in parameter):
        t.fail(
            f"input {i} has rank {len(parameter)}, where input 0 has {len(shape)} and block_size is {block_size}"
        )
    else:
        return  # symbols, which may all be 1
    for found, size in zip(parameter, wanted, strict=True):
        if isinstance(found, int) and isinstance(size, int) and found not in (1, size):
            t.fail(f"input {i} has {found} elements along an axis where {size} are wanted")


def check_alike(t: Inference) -> None:
    """Raises InferenceError when zero point and scale are known to have different numbers of elements."""
    counts = [product(shape) for shape in (t.shape(1), t.shape(2)) if shape is not None]
    if len(counts) == 2 and all(isinstance(n, int) for n in counts) and counts[0] != counts[1]:
        t.fail(f"there are {counts[0]} scales and {counts[1]} zero points, where the same number is wanted")

"""Quantization granularity: scales and zero points per tensor, per index of an axis, or per block.

Spec: QuantizeLinear-21 and later, "quantization granularities"; DequantizeLinear refers to it.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import ceil_div
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.support.shapes import axis_of, element_count


def broadcast_parameter(
    parameter: Array, shape: tuple[int, ...], axis: int, block_size: int, name: str
) -> Array:
    """A scale or zero point reshaped to broadcast against `shape`, the shape of the quantized tensor.

    - A parameter of one element, of any rank, applies to the whole tensor.
    - A vector has an element for each index of `axis`; for a tensor of rank 1, `axis` is ignored.
    - With `block_size`, a parameter of the tensor's rank has an element for each block of this size along `axis`.
    Raises EvaluationError for any other shape.
    """
    if parameter.size == 1:
        return parameter.reshape(())
    if block_size > 0 and parameter.ndim == len(shape):
        return broadcast_blocks(parameter, shape, axis, block_size, name)
    if parameter.ndim != 1:
        what = f"{name} must be a scalar, a vector"
        raise EvaluationError(
            f"{what} or, with block_size, one element per block of {list(shape)}; got shape {list(parameter.shape)}"
        )
    along = 0 if len(shape) == 1 else axis_of(axis, len(shape))
    if parameter.shape[0] != shape[along]:
        what = f"{name} must have {shape[along]} elements, the size of axis {along}"
        raise EvaluationError(f"{what}; got {parameter.shape[0]}")
    return parameter.reshape(-1, *(1,) * (len(shape) - along - 1))


def broadcast_blocks(
    parameter: Array, shape: tuple[int, ...], axis: int, block_size: int, name: str
) -> Array:
    """The elements of the blocks, each repeated for the indices of its block; the last block may be shorter."""
    along = axis_of(axis, len(shape))
    expected = (*shape[:along], -(-shape[along] // block_size), *shape[along + 1 :])
    if parameter.shape != expected:
        what = f"{name} must have shape {list(expected)}, one element per block of {block_size} along axis {along}"
        raise EvaluationError(f"{what}; got {list(parameter.shape)}")
    repeated = np.repeat(parameter, block_size, axis=along)
    return repeated[(slice(None),) * along + (slice(shape[along]),)]


def check_granularity(inference: Inference, i: int) -> None:
    """Raises InferenceError if input i cannot be a scale or zero point of input 0."""
    parameter, shape = inference.shape(i), inference.shape(0)
    axis, block_size = inference.integer("axis", 1), inference.integer("block_size", 0)
    if block_size < 0:
        inference.fail(f"block_size must be positive or 0 for none; got {block_size}")
    if parameter is None or shape is None or all(d == 1 for d in parameter):
        return
    if block_size > 0 and len(parameter) == len(shape):
        along = inference.axis(axis, len(shape))
        size = shape[along]
        blocks = None if size is None else ceil_div(size, block_size)
        expected = (*shape[:along], blocks, *shape[along + 1 :])
    elif len(parameter) == 1:
        expected = (shape[0 if len(shape) == 1 else inference.axis(axis, len(shape))],)
    elif any(isinstance(d, int) and d != 1 for d in parameter):
        inference.fail(
            f"input {i} must have rank 0, 1 or, with block_size, {len(shape)}; got rank {len(parameter)}"
        )
    else:
        return  # all sizes that are not 1 are symbols, which may be 1 in a run
    for actual, size in zip(parameter, expected, strict=True):
        if isinstance(actual, int) and isinstance(size, int) and actual not in (1, size):
            inference.fail(f"input {i} must have {size} elements along the quantized axis; got {actual}")


def check_same_count(inference: Inference) -> None:
    """Raises InferenceError when zero point and scale are known to have different numbers of elements."""
    counts = [element_count(shape) for shape in (inference.shape(1), inference.shape(2)) if shape is not None]
    if len(counts) == 2 and all(isinstance(n, int) for n in counts) and counts[0] != counts[1]:
        inference.fail(f"there must be as many zero points as scales; got {counts[1]} and {counts[0]}")

"""Bound kernels of random operators: shape, element type and seed are known, and only numbers are drawn."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ops.bound_kernel import BoundKernel, NodeBinding
from sardonyx._src.ops.random.drawing import float_types, sample_type


def bind_draw(binding: NodeBinding, method: str, offset: float, scale: float) -> BoundKernel | None:
    """The kernel that draws `offset + scale * number`; None for a scalar, and for a node of unknown shape or element type.

    method: the method of NumPy's generator that draws the numbers.
    """
    drawn = drawn_type(binding)
    if drawn is None or drawn[0] == ():
        return None
    (shape, dtype), seed, state_of = drawn, binding.attributes.get("seed"), binding.random_state

    def draw(*_: object) -> Array:
        result: Array = (offset + scale * getattr(state_of(seed), method)(shape)).astype(dtype)
        return result

    return BoundKernel(draw)


def drawn_type(binding: NodeBinding) -> tuple[tuple[int, ...], np.dtype[np.generic]] | None:
    """The shape and element type of a result: attributes, or those of the only input; None if they are not known."""
    shape, number = binding.attributes.get("shape"), binding.attributes.get("dtype")
    if not binding.inputs:
        return (
            (shape, DataType.from_number(number).numpy) if shape is not None and number is not None else None
        )
    (like,) = binding.inputs
    if like.shape is None or like.dtype is None:
        return None
    return like.shape, sample_type(number, DataType.of(like.dtype), float_types(22)).numpy

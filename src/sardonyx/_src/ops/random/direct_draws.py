"""Random operators bound to one node of a program: shape, element type and seed are known, and only numbers are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ops.random.drawing import float_types, sample_type

# The state from which a seed, or without one the session, draws next.
RandomStates: TypeAlias = (
    "Callable[[float | None], np.random.RandomState]"  # a string, since numpy.random loads slowly
)
Attributes: TypeAlias = Mapping[str, Any]


def bind_uniform(
    attributes: Attributes, inputs: Sequence[object], states: RandomStates
) -> Callable[..., Array] | None:
    """The kernel that draws numbers from an interval, as `random_uniform.uniform` does."""
    low, high = attributes["low"], attributes["high"]
    return bind_draw(attributes, inputs, states, "random_sample", low, high - low)


def bind_normal(
    attributes: Attributes, inputs: Sequence[object], states: RandomStates
) -> Callable[..., Array] | None:
    """The kernel that draws numbers from a normal distribution, as `random_normal.normal` does."""
    return bind_draw(attributes, inputs, states, "standard_normal", attributes["mean"], attributes["scale"])


def bind_draw(
    attributes: Attributes,
    inputs: Sequence[object],
    states: RandomStates,
    method: str,
    offset: float,
    scale: float,
) -> Callable[..., Array] | None:
    """The kernel that draws `offset + scale * number`; None for a scalar, and for a node of unknown shape or element type.

    method: the method of NumPy's generator that draws the numbers.
    """
    drawn = drawn_type(attributes, inputs)
    if drawn is None or drawn[0] == ():
        return None
    (shape, dtype), seed = drawn, attributes.get("seed")

    def draw(*_: object) -> Array:
        result: Array = (offset + scale * getattr(states(seed), method)(shape)).astype(dtype)
        return result

    return draw


def drawn_type(
    attributes: Attributes, inputs: Sequence[object]
) -> tuple[tuple[int, ...], np.dtype[np.generic]] | None:
    """The shape and element type of a result: attributes, or those of the only input; None if it has none."""
    shape, number = attributes.get("shape"), attributes.get("dtype")
    if not inputs:
        return (
            (shape, DataType.from_number(number).numpy) if shape is not None and number is not None else None
        )
    shape, dtype = getattr(inputs[0], "shape", None), getattr(inputs[0], "dtype", None)
    if not isinstance(dtype, np.dtype) or not isinstance(shape, tuple):
        return None
    return shape, sample_type(number, DataType.of(dtype), float_types(22)).numpy

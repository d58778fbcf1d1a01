"""Input dims that an operator requires to be equal: the `equal_dims` trait of products, convolutions and concatenations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.ir.types import Shape, SparseTensorType, TensorType
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.traits import DimPair, EqualDims


def contracted_dims(a: int, b: int) -> EqualDims:
    """The dims of the summed axis in a matrix product of inputs a and b."""

    def pairs(inference: Inference) -> Iterator[DimPair]:
        shapes = shapes_of(inference, (a, b))
        if shapes is not None:
            left, right = shapes
            yield left[-1], right[-2] if len(right) > 1 else right[0]

    return pairs


def contracted_dims_of_matrices(inference: Inference) -> Iterator[DimPair]:
    """The dims of the summed axis in a product of inputs 0 and 1, transposed if `transA` and `transB` say so."""
    shapes = shapes_of(inference, (0, 1))
    if shapes is not None and len(shapes[0]) == len(shapes[1]) == 2:
        a, b = shapes
        yield a[0 if inference.integer("transA") else 1], b[1 if inference.integer("transB") else 0]


def convolved_channels(x: int, weights: int) -> EqualDims:
    """The channels of the input of a convolution, and those that its weights [M, C / group, ...] have."""

    def pairs(inference: Inference) -> Iterator[DimPair]:
        shapes = shapes_of(inference, (x, weights))
        if shapes is not None and min(map(len, shapes)) > 2:
            channels = shapes[1][1]
            yield shapes[0][1], None if channels is None else channels * inference.integer("group", 1)

    return pairs


def transposed_channels(inference: Inference) -> Iterator[DimPair]:
    """The channels of the input of a transposed convolution, and those of its weights [C, M / group, ...]."""
    shapes = shapes_of(inference, (0, 1))
    if shapes is not None and min(map(len, shapes)) > 2:
        yield shapes[0][1], shapes[1][0]


def dims_off_axis(inference: Inference) -> Iterator[DimPair]:
    """All dims of the inputs, except on the attribute `axis`."""
    shapes = shapes_of(inference, range(len(inference.inputs)))
    if shapes is None or len(set(map(len, shapes))) != 1:
        return
    axis = inference.integer("axis", 1) % len(shapes[0])
    for other in shapes[1:]:
        yield from (pair for i, pair in enumerate(zip(shapes[0], other, strict=True)) if i != axis)


def shapes_of(inference: Inference, inputs: Sequence[int]) -> list[Shape] | None:
    """The shapes of some inputs; None if one is a scalar or of unknown rank."""
    shapes: list[Shape] = []
    for i in inputs:
        type_ = inference.type(i)
        if not isinstance(type_, TensorType | SparseTensorType) or not type_.shape:
            return None
        shapes.append(type_.shape)
    return shapes

"""Shape arithmetic that many operators share: axes, broadcasting, common type rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Shape, TensorType, Type
from sardonyx._src.ir.dims import Dim, dim_max, known_equal
from sardonyx._src.ops.inference import Inference, Result


def same_type(inference: Inference) -> Result:
    """Output 0 has the type of input 0."""
    return inference.type(0)


def same_shape(dtype: DataType) -> Callable[[Inference], Result]:
    """Output 0 has the shape of input 0 and elements of `dtype`."""
    return lambda inference: TensorType(dtype, inference.shape(0))


def same_tensor(inference: Inference) -> Result:
    """Output 0 has the element type and the shape of input 0, which is a tensor."""
    type = inference.tensor(0)
    return None if type is None else TensorType(type.dtype, type.shape)


@cache
def infer_broadcast(dtype: DataType | None = None) -> Callable[[Inference], Result]:
    """Output 0 has the shape to which all inputs broadcast, and elements of `dtype` or of the first typed input."""

    def infer(inference: Inference) -> Result:
        types = [inference.tensor(i) for i in range(len(inference.inputs))]
        elements = dtype or next((x.dtype for x in types if x is not None), None)
        if elements is None:
            return None
        return TensorType(elements, broadcast(inference, [None if x is None else x.shape for x in types]))

    return infer


def broadcast(inference: Inference, shapes: Sequence[Shape | None]) -> Shape | None:
    """The shape to which all `shapes` broadcast (Broadcasting.md, multidirectional); None when a rank is unknown.

    Raises InferenceError at the node when two sizes contradict each other.
    """
    if not shapes or any(s is None for s in shapes):
        return None
    if shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    rank = max(len(s) for s in shapes if s is not None)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes if s is not None]
    return tuple(broadcast_dim(inference, column) for column in zip(*padded, strict=True))


def broadcast_dim(inference: Inference, dims: Sequence[Dim]) -> Dim:
    """The size to which sizes of one axis broadcast: all sizes other than 1 must be equal."""
    if dims.count(dims[0]) == len(dims):
        return dims[0]
    wide = [d for d in dims if d != 1]
    if wide.count(wide[0]) == len(wide):
        return wide[0]
    numbers = list(dict.fromkeys(d for d in wide if isinstance(d, int)))
    if len(numbers) > 1:
        inference.fail(f"sizes {numbers[0]} and {numbers[1]} cannot be broadcast to one", about="broadcast")
    if numbers:
        return numbers[0]  # every other size is this number or 1
    if any(d is None for d in wide):
        return None
    wide = list(dict.fromkeys(wide))
    if all(known_equal(wide[0], d) for d in wide[1:]):
        return wide[0]
    widest = dim_max(*wide)
    for size in wide:
        inference.require_broadcast(size, widest)
    return widest


def merge_shapes(inference: Inference, shapes: Sequence[Shape | None], what: str) -> Shape | None:
    """The dims that are known from any of several shapes that must be equal; None if no shape is known."""
    known = [s for s in shapes if s is not None]
    if not known:
        return None
    if len({len(s) for s in known}) > 1:
        inference.fail(f"{what} differ in rank: {', '.join(str(len(s)) for s in known)}")
    return tuple(merge_dims(inference, column, what) for column in zip(*known, strict=True))


def merge_dims(inference: Inference, dims: Sequence[Dim], what: str) -> Dim:
    """The size of dims that must be equal: a number if there is one, otherwise the first expression.

    It is recorded that all dims are required to be equal to it.
    """
    if dims and dims.count(dims[0]) == len(dims):
        return dims[0]
    numbers = sorted({d for d in dims if isinstance(d, int)})
    if len(numbers) > 1:
        inference.fail(f"{what} contradict each other: sizes {numbers[0]} and {numbers[1]}")
    merged = numbers[0] if numbers else next((d for d in dims if d is not None), None)
    inference.require_equal(merged, *dims)
    return merged


def check_one_element(inference: Inference, i: int, name: str, size: Dim = 1) -> None:
    """Raises InferenceError if input i has neither one element nor shape [size]."""
    shape = inference.shape(i)
    if size == 1 and shape is not None:
        inference.require_equal(1, *shape)
    if shape is None or shape == (size,) or all(n == 1 or not isinstance(n, int) for n in shape):
        return
    if len(shape) != 1 or isinstance(size, int):
        expected = "one element" if size == 1 else f"one element or shape [{'?' if size is None else size}]"
        inference.fail(f"{name} must have {expected}; got {inference.type(i)}")


def element_count(dims: Sequence[Dim]) -> Dim:
    """The number of elements of a shape; None if a size is unknown and none is 0."""
    if any(isinstance(d, int) and d == 0 for d in dims):
        return 0
    result: Dim = 1
    for dim in dims:
        if dim is None or result is None:
            return None
        result = result * dim
    return result


def first_element_type(*types: Type | None) -> DataType | None:
    """The element type of the first of `types` that is a tensor type."""
    return next((x.dtype for x in types if isinstance(x, TensorType)), None)


# --- axes at run time ------------------------------------------------------------------------


def axis_of(axis: int, rank: int, what: str = "axis") -> int:
    """An axis counted from the front; raises EvaluationError if it is outside of the rank."""
    if not -rank <= axis < rank:
        raise EvaluationError(f"{what} {axis} lies outside of rank {rank}: -{rank} to {rank - 1} are allowed")
    return axis % rank


def axes_of(axes: Sequence[int], rank: int, what: str = "axes") -> tuple[int, ...]:
    """Axes counted from the front, in the given order; raises EvaluationError for an axis out of range or named twice."""
    result = tuple(axis_of(int(axis), rank, what) for axis in axes)
    if len(set(result)) < len(result):
        raise EvaluationError(f"{what} {list(axes)} name an axis twice")
    return result

"""Shape arithmetic that many operators share: axes, broadcasting, common type rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, dim_max, known_equal
from sardonyx._src.ir.types import Shape, TensorType, Type
from sardonyx._src.ops.inference import Inference, Result


def same_type(t: Inference) -> Result:
    """Output 0 has the type of input 0."""
    return t.type(0)


def same_shape(dtype: DataType) -> Callable[[Inference], Result]:
    """Output 0 has the shape of input 0 and elements of `dtype`."""
    return lambda t: TensorType(dtype, t.shape(0))


def same_tensor(t: Inference) -> Result:
    """Output 0 has the element type and the shape of input 0, which is a tensor."""
    found = t.tensor(0)
    return None if found is None else TensorType(found.dtype, found.shape)


@cache
def broadcasting(dtype: DataType | None = None) -> Callable[[Inference], Result]:
    """Output 0 has the shape to which all inputs broadcast, and elements of `dtype` or of the first typed input."""

    def infer(t: Inference) -> Result:
        types = [t.tensor(i) for i in range(len(t.inputs))]
        elements = dtype or next((x.dtype for x in types if x is not None), None)
        if elements is None:
            return None
        return TensorType(elements, broadcast(t, [None if x is None else x.shape for x in types]))

    return infer


def broadcast(t: Inference, shapes: Sequence[Shape | None]) -> Shape | None:
    """The shape to which all `shapes` broadcast (Broadcasting.md, multidirectional); None when a rank is unknown.

    Raises InferenceError at the node when two sizes contradict each other.
    """
    if not shapes or any(s is None for s in shapes):
        return None
    if shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    rank = max(len(s) for s in shapes if s is not None)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes if s is not None]
    return tuple(broadcast_dim(t, column) for column in zip(*padded, strict=True))


def broadcast_dim(t: Inference, dims: Sequence[Dim]) -> Dim:
    """The size to which sizes of one axis broadcast: 1 gives way, anything else has to be the same."""
    if dims.count(dims[0]) == len(dims):
        return dims[0]
    wide = [d for d in dims if d != 1]
    if wide.count(wide[0]) == len(wide):
        return wide[0]
    numbers = list(dict.fromkeys(d for d in wide if isinstance(d, int)))
    if len(numbers) > 1:
        t.fail(f"sizes {numbers[0]} and {numbers[1]} cannot be broadcast to one", about="broadcast")
    if numbers:
        return numbers[0]  # a symbol beside it is that number or 1
    if any(d is None for d in wide):
        return None
    wide = list(dict.fromkeys(wide))
    return wide[0] if all(known_equal(wide[0], d) for d in wide[1:]) else dim_max(*wide)


def merge_shapes(t: Inference, shapes: Sequence[Shape | None], what: str) -> Shape | None:
    """One shape that has to be the same as each of `shapes`, with what any of them knows."""
    known = [s for s in shapes if s is not None]
    if not known:
        return None
    if len({len(s) for s in known}) > 1:
        t.fail(f"{what} differ in rank: {', '.join(str(len(s)) for s in known)}")
    return tuple(merge_dims(t, column, what) for column in zip(*known, strict=True))


def merge_dims(t: Inference, dims: Sequence[Dim], what: str) -> Dim:
    """One size that has to be the same as each of `dims`: a number if there is one, else the first expression."""
    if dims and dims.count(dims[0]) == len(dims):
        return dims[0]
    numbers = sorted({d for d in dims if isinstance(d, int)})
    if len(numbers) > 1:
        t.fail(f"{what} contradict each other: sizes {numbers[0]} and {numbers[1]}")
    return numbers[0] if numbers else next((d for d in dims if d is not None), None)


def check_single(t: Inference, i: int, name: str, size: Dim = 1) -> None:
    """Raises InferenceError where input i has neither one element nor the `size` of a vector."""
    shape = t.shape(i)
    if shape is None or shape == (size,) or all(n == 1 or not isinstance(n, int) for n in shape):
        return
    if len(shape) != 1 or isinstance(size, int):
        wanted = "one element is" if size == 1 else f"one element or [{'?' if size is None else size}] is"
        t.fail(f"{name} is {t.type(i)}, where {wanted} wanted")


def product(dims: Sequence[Dim]) -> Dim:
    """The number of elements of a shape; None where a size is unknown (unless another one is 0)."""
    if any(isinstance(d, int) and d == 0 for d in dims):
        return 0
    result: Dim = 1
    for dim in dims:
        if dim is None or result is None:
            return None
        result = result * dim
    return result


def element(*types: Type | None) -> DataType | None:
    """The element type of the first of `types` that is a tensor type."""
    return next((x.dtype for x in types if isinstance(x, TensorType)), None)


# --- axes at run time ------------------------------------------------------------------------


def axis_of(axis: int, rank: int, what: str = "axis") -> int:
    """An axis counted from the front; raises EvaluationError when it lies outside of the rank."""
    if not -rank <= axis < rank:
        raise EvaluationError(f"{what} {axis} lies outside of rank {rank}: -{rank} to {rank - 1} are allowed")
    return axis % rank


def axes_of(axes: Sequence[int], rank: int, what: str = "axes") -> tuple[int, ...]:
    """Axes counted from the front, in the order given; raises EvaluationError for one out of range or named twice."""
    result = tuple(axis_of(int(axis), rank, what) for axis in axes)
    if len(set(result)) < len(result):
        raise EvaluationError(f"{what} {list(axes)} name an axis twice")
    return result

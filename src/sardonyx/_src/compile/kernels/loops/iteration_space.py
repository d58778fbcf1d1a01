"""Iteration spaces: the dims over which a kernel visits several strided operands at once.

Kernels are specialized on the number of dims, so that few dims mean few kernels.  Dims of size 1 are dropped, dims are sorted
by the strides of one operand, and adjacent dims are coalesced where every operand passes through both with a single stride,
as in PyTorch's TensorIterator.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.program import TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Expr, Known, dim_min, dim_product, known_ge, symbol


@dataclass(frozen=True, slots=True)
class IterationSpace:
    """Dims from the outermost to the innermost; strides[operand][dim], in elements unless `scale_strides` was applied."""

    shape: tuple[Known, ...]
    strides: tuple[tuple[Known, ...], ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Known:
        """The number of points: the product of the dims."""
        return dim_product(self.shape)

    def stride(self, operand: int, dim: int) -> Known:
        return self.strides[operand][dim]

    def permute(self, order: Sequence[int]) -> IterationSpace:
        """The dims in the given order; dims that are not listed are dropped."""
        shape = tuple(self.shape[d] for d in order)
        return IterationSpace(shape, tuple(tuple(s[d] for d in order) for s in self.strides))

    def drop_dim(self, dim: int) -> IterationSpace:
        return self.permute([d for d in range(self.rank) if d != dim % self.rank])

    def append_dim(self, extent: Known, strides: Sequence[Known]) -> IterationSpace:
        """The space with one more dim, innermost; strides: one for each operand."""
        pairs = zip(self.strides, strides, strict=True)
        return IterationSpace((*self.shape, extent), tuple((*outer, inner) for outer, inner in pairs))

    def scale_strides(self, factors: Sequence[int]) -> IterationSpace:
        """The space with the strides of each operand multiplied by a factor, such as the bytes of an element."""
        pairs = zip(self.strides, factors, strict=True)
        return IterationSpace(self.shape, tuple(tuple(stride * f for stride in s) for s, f in pairs))

    def to_arguments(self) -> tuple[Known, ...]:
        """Kernel arguments for `strided_loops.load_dims`: the sizes, then the strides of each operand."""
        return (*self.shape, *(stride for s in self.strides for stride in s))


def broadcast_space(shape: Sequence[Known], tensors: Sequence[TensorView]) -> IterationSpace:
    """The space of a shape that all tensors broadcast to."""
    return IterationSpace(tuple(shape), tuple(broadcast_strides(tensor, shape) for tensor in tensors))


def broadcast_strides(tensor: TensorView, shape: Sequence[Known]) -> tuple[Known, ...]:
    """The strides of a tensor over a shape that it broadcasts to; 0 along broadcast dims."""
    missing = len(shape) - tensor.rank
    assert missing >= 0, f"the rank of {tensor} must be at most {len(shape)}; got {tensor.rank}"
    strides: list[Known] = [0] * missing
    for tensor_dim, dim, stride in zip(tensor.shape, shape[missing:], tensor.strides, strict=True):
        if tensor_dim == 1:
            strides.append(0)
        elif tensor_dim == dim or isinstance(tensor_dim, int):
            strides.append(stride)
        else:
            strides.append(stride * dim_min(tensor_dim - 1, 1))  # 0 if the dim is 1 at run time
    return tuple(strides)


def simplify(space: IterationSpace, by: int) -> IterationSpace:
    """The same points with as few dims as can be proved, sorted by descending strides of operand `by`.

    The points are visited in another order, but offsets of the operands stay paired.
    """
    return coalesce(sort_dims(drop_unit_dims(space), by))


def row_space(space: IterationSpace, by: int) -> IterationSpace:
    """A simplified space of rows, with at least one dim."""
    return ensure_dim(simplify(space, by))


def split_row(space: IterationSpace, row_strides: Sequence[int]) -> tuple[IterationSpace, Known]:
    """The space of rows, and the length of a row: the innermost dim if its strides are `row_strides`, else rows of one point."""
    if space.rank and [s[-1] for s in space.strides] == [*row_strides]:
        return ensure_dim(space.drop_dim(-1)), space.shape[-1]
    return ensure_dim(space), 1


def ensure_dim(space: IterationSpace, stride: int = 0) -> IterationSpace:
    """The space with at least one dim, so that no kernels of rank 0 are needed; stride: that of an added dim."""
    return space if space.rank else space.append_dim(1, (stride,) * len(space.strides))


def drop_unit_dims(space: IterationSpace) -> IterationSpace:
    return space.permute([d for d, size in enumerate(space.shape) if size != 1])


def sort_dims(space: IterationSpace, by: int) -> IterationSpace:
    """Dims by descending strides of operand `by`, by insertion sort; incomparable dims keep their order."""
    order: list[int] = []
    for dim in range(space.rank):
        position = len(order)
        while position and is_smaller_stride(space.stride(by, order[position - 1]), space.stride(by, dim)):
            position -= 1
        order.insert(position, dim)
    return space.permute(order)


def is_smaller_stride(a: Known, b: Known) -> bool:
    """Whether a <= b is known if all symbols are at least 1, and a is not b.

    A wrong order for a symbol of 0 only costs time.
    """
    difference = b - a
    if isinstance(difference, Expr):
        at_least_one = difference.substitute({name: symbol(name) + 1 for name in difference.symbols()})
        return known_ge(at_least_one, 0) is True
    return difference > 0


def coalesce(space: IterationSpace) -> IterationSpace:
    """Merges adjacent dims where in every operand the outer stride is the inner extent times the inner stride."""
    for dim in reversed(range(space.rank - 1)):
        extent = space.shape[dim + 1]
        if all(s[dim] == extent * s[dim + 1] for s in space.strides):
            shape = (*space.shape[:dim], space.shape[dim] * extent, *space.shape[dim + 2 :])
            space = IterationSpace(shape, tuple((*s[:dim], *s[dim + 1 :]) for s in space.strides))
    return space

"""The tails of kernels: the elementwise nodes behind a result, with their operands in the form that the kernel wants."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sardonyx._src.compile.fusion import Group, Shape, behind
from sardonyx._src.compile.loops.ir import Scalar
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.tail import RESULT, How, Tail
from sardonyx._src.compile.tensor import Tensor, last_order
from sardonyx._src.ir.graph import Value


@dataclass(frozen=True, slots=True)
class Ending:
    """What a kernel does behind its own result.

    result: the value that it writes instead.  y: where, [N, ..., C] if channels are last.
    """

    tail: Tail
    operands: tuple[Tensor, ...]
    y: Tensor


def ending(at: Lowering, value: Value, *, channels_last: bool = False, start: Scalar = RESULT) -> Ending:
    """Takes the nodes behind a value into the kernel that makes it, and binds what they make to its result.

    Rows of columns are those of the last dim, or of the channels.  start: the value in terms of what the kernel has.
    """
    rank = len(at.known_shape(value))
    axis = 1 if channels_last else rank - 1

    def accepts(operand: Value, shape: Shape) -> bool:
        return can_take(at, operand, shape, at.known_shape(value), axis, channels_last=channels_last)

    group = behind(at, value, accepts, start)
    if group is None:
        return Ending(Tail(start), (), at.result(value, channels_last=channels_last))
    hows = tuple(found for shape in group.shapes if (found := how(shape, group.shape, axis)) is not None)
    operands = tuple(
        placed(at, one, shape, found, channels_last=channels_last)
        for one, shape, found in zip(group.operands, group.shapes, hows, strict=True)
    )
    absorb(at, group)
    y = at.result(group.result, channels_last=channels_last)
    return Ending(Tail(group.value, hows), operands, y)


def can_take(
    at: Lowering, operand: Value, shape: Shape, whole: Shape, axis: int, *, channels_last: bool
) -> bool:
    """Whether a tail can have an operand, which is taken for one of dims `shape`, beside rows of columns."""
    dims = at.known_shape(operand)
    found = how(shape, whole, axis)
    if found is None or not is_sure(dims, shape):
        return False
    # Which dim of a matrix is its channels shows by its rank alone.
    return found != "matrix" or not channels_last or len(dims) == len(shape)


def absorb(at: Lowering, group: Group) -> None:
    """Marks the nodes of a group as done; steps are put down in their names too."""
    at.done.update(group.nodes)
    at.names = (*at.names, *(node.name or node.outputs[0].name for node in group.nodes))


def is_sure(dims: Shape, placed: Shape) -> bool:
    """Whether an operand has the dims that it is taken for, and none that may turn out to be 1."""
    return [dim for dim in dims if dim != 1] == [dim for dim in placed if dim != 1]


def how(shape: Shape, whole: Shape, axis: int) -> How | None:
    """How an operand lies beside rows of columns, of which `axis` is the dim."""
    if all(dim == 1 for dim in shape):
        return "scalar"
    if shape == whole:
        return "matrix"
    rest = [dim for i, dim in enumerate(shape) if i != axis]
    return "column" if shape[axis] == whole[axis] and all(dim == 1 for dim in rest) else None


def placed(at: Lowering, value: Value, shape: Shape, found: How, *, channels_last: bool) -> Tensor:
    """An operand in the form that a tail wants."""
    if found == "matrix":
        tensor = at.channels_last(value) if channels_last else at.rows(value)
        return placed_as(tensor, turned(shape) if channels_last else shape)
    dense = at.dense(value)
    return dense.reshaped((dense.count,))


def turned(shape: Shape) -> Shape:
    """Dims [N, C, ...] with the channels last."""
    return tuple(shape[i] for i in last_order(len(shape)))


def placed_as(tensor: Tensor, shape: Shape) -> Tensor:
    """A tensor with dims of 1 in front, and its sizes said as those of the result."""
    lead = len(shape) - tensor.rank
    return replace(tensor, shape=shape, strides=(0,) * lead + tensor.strides)

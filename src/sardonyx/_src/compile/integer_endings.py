"""The tails of integer products: the elementwise nodes behind sums of 32 bits, of several types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sardonyx._src.compile.endings import absorb, can_take, how, placed
from sardonyx._src.compile.fusion import Accepts, Group, Growth, Shape
from sardonyx._src.compile.loops.ir import Local, Scalar
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.products.integer_tail import IntegerTail
from sardonyx._src.compile.products.words import WORD, padded
from sardonyx._src.compile.tail import How
from sardonyx._src.compile.tensor import Tensor, first_order, last_order, width
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Node, Value

TYPES = frozenset({DataType.FLOAT, DataType.INT32, DataType.UINT8, DataType.INT8})
SUMS = Local("x")


@dataclass(frozen=True, slots=True)
class Given:
    """An operand that a product has of itself, which it knows as `o0`, `o1`, ... in order.

    is_row: whether it has one number for each row, as `integer_tail.of_rows` lays it.
    """

    how: How
    tensor: Tensor
    is_row: bool = False


@dataclass(frozen=True, slots=True)
class IntegerEnding:
    """What a kernel does behind its sums.  y: where the result goes, [N, ..., C] if channels are last."""

    tail: IntegerTail
    operands: tuple[Tensor, ...]
    y: Tensor


class IntegerGrowth(Growth):
    """A group behind sums of integers: types of at most 32 bits, and no others, come and go."""

    most = 14  # scales and zero points of several quantizations, which are in no register while sums are made

    def add(self, node: Node) -> bool:
        found = [self.at.dtype_of(value) for value in node.outputs]
        return all(one in TYPES for one in found) and super().add(node)


def integer_ending(
    at: Lowering, value: Value, start: Scalar, given: Sequence[Given], *, channels_last: bool = False
) -> IntegerEnding:
    """Takes the nodes behind a value, which is `start` to them, into the kernel, and binds what they make to its result."""
    rank = len(at.known_shape(value))
    axis = 1 if channels_last else rank - 1

    def accepts(operand: Value, shape: Shape) -> bool:
        if at.dtype_of(operand) not in TYPES:
            return False
        return can_take(at, operand, shape, at.known_shape(value), axis, channels_last=channels_last)

    group = behind(at, value, accepts, start, len(given))
    hows = [one.how for one in given]
    tensors = [one.tensor for one in given]
    if group is not None:
        for one, shape in list(zip(group.operands, group.shapes, strict=True))[len(given) :]:
            found = how(shape, group.shape, axis)
            assert found is not None, "operands have been looked at"
            hows.append(found)
            tensors.append(placed(at, one, shape, found, channels_last=channels_last))
        absorb(at, group)
    result, expression = (value, start) if group is None else (group.result, group.value)
    types = tuple(one.dtype for one in tensors)
    rows = tuple(i for i, one in enumerate(given) if one.is_row)
    tail = IntegerTail(expression, tuple(hows), types, at.dtype(result), rows)
    return IntegerEnding(tail, tuple(tensors), narrow_result(at, result, channels_last=channels_last))


def behind(at: Lowering, value: Value, accepts: Accepts, start: Scalar, given: int) -> Group | None:
    shape = at.shape(value)
    if shape is None or value in at.outputs:
        return None
    growth = IntegerGrowth(at, shape, accepts, "o")
    for i in range(given):
        growth.taken[Value(f"operand {i}", None), ()] = Local(f"o{i}")
    growth.put(value, start)
    return growth.grown()


def narrow_result(at: Lowering, value: Value, *, channels_last: bool = False) -> Tensor:
    """Memory for a result, bound to it; rows of bytes are whole words apart, as products want them."""
    shape = at.known_shape(value)
    order = last_order(len(shape)) if channels_last else tuple(range(len(shape)))
    inner = shape[order[-1]] if shape else 1
    is_free = value not in at.outputs and value not in at.destinations.joins
    if not is_free or width(at.dtype(value)) != 1 or not isinstance(inner, int) or inner % WORD == 0:
        return at.result(value, channels_last=channels_last)
    made = padded(at.dtype(value), [shape[i] for i in order], value.name)
    at.bind(value, made.permuted(first_order(len(shape))) if channels_last else made)
    return made

"""Version adapters between legacy broadcasting (only of B to A) and multidirectional broadcasting (from set 7 on).

To convert down, the operand that is broadcast becomes B, if the operator permits to swap the operands.  Where that does
not suffice, because both are broadcast or B has sizes of 1 inside, the operands are expanded by Tile.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Shape, Value
from sardonyx._src.ir.dims import Dim, known_equal
from sardonyx._src.ops.api import ConvertFacet
from sardonyx._src.ops.math.legacy_broadcast import first_dim
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

LEGACY_ATTRIBUTES = ("axis", "broadcast", "consumed_inputs")


# --- up --------------------------------------------------------------------------------------


def adapt_to_broadcast(adapter: Adapter) -> AdaptedNode:
    """From version 1 or 6 to 7: B gets trailing axes of size 1 so that its dims align with A's from `axis` on."""
    a, b = adapter.inference.shape(0), adapter.inference.shape(1)
    axis = adapter.inference.attributes.get("axis")
    if (
        not adapter.inference.integer("broadcast")
        or axis is None
        or (b is not None and not any(d != 1 for d in b))
    ):
        return adapter.same(drop=LEGACY_ATTRIBUTES)
    assert isinstance(axis, int), f"axis of {adapter.node.op_type} is {axis!r}"
    if a is None or b is None:
        return adapter.same([adapter.input(0), append_axes(adapter, axis)], drop=LEGACY_ATTRIBUTES)
    start = first_dim(len(a), len(b), axis)
    if start is None:
        adapter.refuse(f"B of rank {len(b)} at axis {axis} reaches beyond A of rank {len(a)}")
    trailing = len(a) - start - len(b)
    if not trailing:
        return adapter.same(drop=LEGACY_ATTRIBUTES)
    B = adapter.Unsqueeze(adapter.input(1), axes=list(range(len(b), len(b) + trailing)))
    return adapter.same([adapter.input(0), B], drop=LEGACY_ATTRIBUTES)


def append_axes(adapter: Adapter, axis: int) -> Value:
    """B with the trailing axes that `axis` requires, for ranks known at run time only."""
    A, B = adapter.input(0), adapter.input(1)
    shape = adapter.Shape(B)
    trailing = adapter.integers([-axis])
    if axis >= 0:
        trailing = adapter.Sub(adapter.Shape(adapter.Shape(A)), adapter.integers([axis]))
    ones = adapter.Tile(adapter.integers([1]), adapter.Sub(trailing, adapter.Shape(shape)))
    return adapter.Reshape(B, adapter.Concat(shape, ones, axis=0))


# --- down ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BroadcastOperand:
    """An operand of known rank; its sizes may be unknown."""

    value: Value
    shape: Shape

    @classmethod
    def of(cls, adapter: Adapter, i: int) -> BroadcastOperand:
        shape = adapter.inference.shape(i)
        if shape is None:
            adapter.refuse(
                f"the rank of input {i} must be known, as the target version broadcasts in another way"
            )
        return cls(adapter.input(i), shape)


@dataclass(frozen=True, slots=True)
class ResultAxis:
    """An axis of the result: its size, an operand that has this size, and the axis of that operand."""

    size: Dim
    side: BroadcastOperand
    position: int  # the axis of the operand `side`


def make_legacy_adapter(mirror: str = "") -> ConvertFacet:
    """The facet from version 7 to 6 or 1; `mirror` names the operator with the same result for (B, A), if any."""

    def convert(adapter: Adapter) -> AdaptedNode:
        A, B = BroadcastOperand.of(adapter, 0), BroadcastOperand.of(adapter, 1)
        if same_dims(A.shape, B.shape):
            return adapter.same()
        axes = result_axes(adapter, [A, B])
        swapped = bool(mirror) and not covers(A, axes) and covers(B, axes)
        if swapped:
            A, B = B, A
        A = expand_operand(adapter, A, axes)
        run, axis = contiguous_dims(adapter, B, axes)
        return adapter.same([A.value, run], op_type=mirror if swapped else "", broadcast=1, axis=axis)

    return convert


def broadcast_all_inputs(adapter: Adapter) -> AdaptedNode:
    """For a variadic operator, from version 8 to 6, which requires one shape: all inputs are expanded to the result's."""
    sides = [BroadcastOperand.of(adapter, i) for i in range(len(adapter.node.inputs))]
    if all(same_dims(sides[0].shape, side.shape) for side in sides):
        return adapter.same()
    axes = result_axes(adapter, sides)
    return adapter.same([expand_operand(adapter, side, axes).value for side in sides])


def same_dims(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(known_equal(x, y) for x, y in zip(a, b, strict=True))


def result_axes(adapter: Adapter, sides: Sequence[BroadcastOperand]) -> list[ResultAxis]:
    """The axes of the broadcast result; refused if it is not known along an axis which of the operands is broadcast."""
    rank = max(len(side.shape) for side in sides)
    result: list[ResultAxis] = []
    for i in range(rank):
        candidates = [(s, i - rank + len(s.shape)) for s in sides if i - rank + len(s.shape) >= 0]
        wide = [ResultAxis(s.shape[axis], s, axis) for s, axis in candidates if s.shape[axis] != 1]
        for other in wide[1:]:
            if not known_equal(wide[0].size, other.size):
                sizes = " and ".join("?" if d is None else str(d) for d in (wide[0].size, other.size))
                adapter.refuse(
                    f"it is not known which of the sizes {sizes} is broadcast; fix the shapes first"
                )
        result.append(wide[0] if wide else ResultAxis(1, *candidates[0]))
    return result


def covers(side: BroadcastOperand, axes: Sequence[ResultAxis]) -> bool:
    """Whether the operand has the result's shape."""
    return len(side.shape) == len(axes) and not broadcast_axes(side, axes)


def broadcast_axes(side: BroadcastOperand, axes: Sequence[ResultAxis]) -> list[int]:
    """The axes of an operand that are broadcast, as indices into the operand."""
    own = axes[len(axes) - len(side.shape) :]
    return [i for i, (size, axis) in enumerate(zip(side.shape, own, strict=True)) if size == 1 != axis.size]


def expand_operand(adapter: Adapter, side: BroadcastOperand, axes: Sequence[ResultAxis]) -> BroadcastOperand:
    """The operand expanded to the result's shape."""
    missing = len(axes) - len(side.shape)
    if missing:
        value = adapter.Unsqueeze(side.value, axes=list(range(missing)))
        side = BroadcastOperand(value, (1,) * missing + side.shape)
    return tile_axes(adapter, side, axes, broadcast_axes(side, axes))


def tile_axes(
    adapter: Adapter, side: BroadcastOperand, axes: Sequence[ResultAxis], which: Sequence[int]
) -> BroadcastOperand:
    """The operand with its axes `which`, of size 1, tiled to the result's sizes."""
    if not which:
        return side
    own = axes[len(axes) - len(side.shape) :]
    if all(isinstance(own[i].size, int) for i in which):
        repeats = adapter.integers([own[i].size if i in which else 1 for i in range(len(own))])
    else:
        unit = adapter.integers([1])
        sizes = [size_at_run_time(adapter, own[i]) if i in which else unit for i in range(len(own))]
        repeats = adapter.Concat(*sizes, axis=0)
    shape = tuple(own[i].size if i in which else size for i, size in enumerate(side.shape))
    return BroadcastOperand(adapter.Tile(side.value, repeats), shape)


def size_at_run_time(adapter: Adapter, axis: ResultAxis) -> Value:
    return adapter.Gather(adapter.Shape(axis.side.value), adapter.integers([axis.position]))


def contiguous_dims(
    adapter: Adapter, side: BroadcastOperand, axes: Sequence[ResultAxis]
) -> tuple[Value, int | None]:
    """B without leading and trailing sizes of 1, and the axis of A at which its dims begin (None: the last dims)."""
    wide = [i for i, size in enumerate(side.shape) if size != 1]
    if not wide:
        return side.value, None  # one element
    first, last = wide[0], wide[-1]
    side = tile_axes(adapter, side, axes, [i for i in broadcast_axes(side, axes) if first < i < last])
    outer = [*range(first), *range(last + 1, len(side.shape))]
    value = adapter.Squeeze(side.value, axes=outer) if outer else side.value
    at_end = last == len(side.shape) - 1
    return value, None if at_end else len(axes) - len(side.shape) + first

"""Conversions between the broadcasting of the first opsets, of B over A alone, and that of all later ones.

Down, the smaller operand becomes B.  What B alone cannot say (both are stretched, or sizes of 1 inside B) is said
with Tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sardonyx._src.ir.dims import Dim, known_equal
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.types import Shape
from sardonyx._src.ops.api import ConvertFacet
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.math.limited_broadcast import first_dim

LIMITS = ("axis", "broadcast", "consumed_inputs")


# --- up --------------------------------------------------------------------------------------


def unlimited(c: Change) -> Converted:
    """From version 1 or 6 to 7: B gets axes at its end with which it lies where `axis` says."""
    a, b = c.t.shape(0), c.t.shape(1)
    axis = c.t.attributes.get("axis")
    if not c.t.integer("broadcast") or axis is None or (b is not None and not any(d != 1 for d in b)):
        return c.same(drop=LIMITS)
    assert isinstance(axis, int), f"axis of {c.node.op_type} is {axis!r}"
    if a is None or b is None:
        return c.same([c.input(0), lined_up(c, axis)], drop=LIMITS)
    start = first_dim(len(a), len(b), axis)
    if start is None:
        c.refuse(f"B of rank {len(b)} at axis {axis} reaches beyond A of rank {len(a)}")
    behind = len(a) - start - len(b)
    if not behind:
        return c.same(drop=LIMITS)
    B = c.Unsqueeze(c.input(1), axes=list(range(len(b), len(b) + behind)))
    return c.same([c.input(0), B], drop=LIMITS)


def lined_up(c: Change, axis: int) -> Value:
    """B with as many axes at its end as `axis` asks for, where the ranks show at run time only."""
    A, B = c.input(0), c.input(1)
    shape = c.Shape(B)
    behind = c.integers([-axis])
    if axis >= 0:
        behind = c.Sub(c.Shape(c.Shape(A)), c.integers([axis]))
    ones = c.Tile(c.integers([1]), c.Sub(behind, c.Shape(shape)))
    return c.Reshape(B, c.Concat(shape, ones, axis=0))


# --- down ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Side:
    """An operand, whose rank is known."""

    value: Value
    shape: Shape

    @classmethod
    def of(cls, c: Change, i: int) -> Side:
        shape = c.t.shape(i)
        if shape is None:
            c.refuse(f"the rank of input {i} has to be known, as shapes are broadcast in another way there")
        return cls(c.input(i), shape)


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of the result: its size, and the operand that has it, where it is no 1 of all of them."""

    size: Dim
    side: Side
    at: int  # among the operand's axes


def limiting(mirror: str = "") -> ConvertFacet:
    """The facet from version 7 to 6 or 1; `mirror` names the operator that gives the same of (B, A)."""

    def convert(c: Change) -> Converted:
        A, B = Side.of(c, 0), Side.of(c, 1)
        if same_dims(A.shape, B.shape):
            return c.same()
        axes = result_axes(c, [A, B])
        swapped = bool(mirror) and not covers(A, axes) and covers(B, axes)
        if swapped:
            A, B = B, A
        A = spread(c, A, axes)
        run, axis = run_of(c, B, axes)
        return c.same([A.value, run], op_type=mirror if swapped else "", broadcast=1, axis=axis)

    return convert


def alike(c: Change) -> Converted:
    """From version 8 to 6 of an operator of any number of inputs: all of them in the result's shape."""
    sides = [Side.of(c, i) for i in range(len(c.node.inputs))]
    if all(same_dims(sides[0].shape, side.shape) for side in sides):
        return c.same()
    axes = result_axes(c, sides)
    return c.same([spread(c, side, axes).value for side in sides])


def same_dims(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(known_equal(x, y) for x, y in zip(a, b, strict=True))


def result_axes(c: Change, sides: Sequence[Side]) -> list[Axis]:
    """The axes of the broadcast result; refused where sizes do not tell which of the operands is stretched."""
    rank = max(len(side.shape) for side in sides)
    result: list[Axis] = []
    for i in range(rank):
        here = [(s, i - rank + len(s.shape)) for s in sides if i - rank + len(s.shape) >= 0]
        wide = [Axis(s.shape[at], s, at) for s, at in here if s.shape[at] != 1]
        for other in wide[1:]:
            if not known_equal(wide[0].size, other.size):
                sizes = " and ".join("?" if d is None else str(d) for d in (wide[0].size, other.size))
                c.refuse(f"it cannot be told which of the sizes {sizes} is stretched; fix the shapes first")
        result.append(wide[0] if wide else Axis(1, *here[0]))
    return result


def covers(side: Side, axes: Sequence[Axis]) -> bool:
    """Whether the operand has the result's shape."""
    return len(side.shape) == len(axes) and not stretched_axes(side, axes)


def stretched_axes(side: Side, axes: Sequence[Axis]) -> list[int]:
    """The axes of an operand that are stretched, counted in the operand."""
    own = axes[len(axes) - len(side.shape) :]
    return [i for i, (size, axis) in enumerate(zip(side.shape, own, strict=True)) if size == 1 != axis.size]


def spread(c: Change, side: Side, axes: Sequence[Axis]) -> Side:
    """The operand in the result's shape."""
    missing = len(axes) - len(side.shape)
    if missing:
        value = c.Unsqueeze(side.value, axes=list(range(missing)))
        side = Side(value, (1,) * missing + side.shape)
    return tiled(c, side, axes, stretched_axes(side, axes))


def tiled(c: Change, side: Side, axes: Sequence[Axis], which: Sequence[int]) -> Side:
    """The operand with its axes `which`, of size 1, as long as the result's."""
    if not which:
        return side
    own = axes[len(axes) - len(side.shape) :]
    if all(isinstance(own[i].size, int) for i in which):
        repeats = c.integers([own[i].size if i in which else 1 for i in range(len(own))])
    else:
        one = c.integers([1])
        sizes = [size_at_run_time(c, own[i]) if i in which else one for i in range(len(own))]
        repeats = c.Concat(*sizes, axis=0)
    shape = tuple(own[i].size if i in which else size for i, size in enumerate(side.shape))
    return Side(c.Tile(side.value, repeats), shape)


def size_at_run_time(c: Change, axis: Axis) -> Value:
    return c.Gather(c.Shape(axis.side.value), c.integers([axis.at]))


def run_of(c: Change, side: Side, axes: Sequence[Axis]) -> tuple[Value, int | None]:
    """B as a run of A's dims without sizes of 1 around it, and where the run begins; None: it is at the end."""
    wide = [i for i, size in enumerate(side.shape) if size != 1]
    if not wide:
        return side.value, None  # one element
    first, last = wide[0], wide[-1]
    side = tiled(c, side, axes, [i for i in stretched_axes(side, axes) if first < i < last])
    outer = [*range(first), *range(last + 1, len(side.shape))]
    value = c.Squeeze(side.value, axes=outer) if outer else side.value
    at_end = last == len(side.shape) - 1
    return value, None if at_end else len(axes) - len(side.shape) + first

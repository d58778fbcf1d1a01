"""Pad with pads that input sizes determine, in any mode.

Falls back to the reference kernel for other pads, and for computed fill values.  A Pad that only a TensorScatter reads, as its
cache, is deferred: the TensorScatter pads into its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast, get_args

from sardonyx._src.compile.kernels.data_movement.pad import PadMode, can_pad, pad_steps
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, Step
from sardonyx._src.compile.program.operands.layout import FOLLOW
from sardonyx._src.compile.program.operands.tensor import channels_first_permutation
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Value
from sardonyx._src.ir.dims import Expr, Known, dim_max, known_equal, known_ge
from sardonyx._src.ops.tensor.zeros import zero


@dataclass(frozen=True, slots=True)
class Pad:
    """The parameters of a Pad.

    before: the pads before each axis; negative ones crop.
    value: the fill value of constant mode, one element.
    """

    before: tuple[Known, ...]
    mode: PadMode
    value: Array


@matches("Pad", 25)
def match_pad(op: BoundNode, scope: Scope) -> Region[Pad] | None:
    x, shape, mode = op.input(0), scope.shape(op.output), op.attribute("mode", str)
    if x is None or shape is None or not scope.is_native(x) or mode not in get_args(PadMode):
        return None
    pads, value = known_pads(op, scope, x), fill_value(op, scope, x)
    if pads is None or value is None or not is_padded_shape(scope.known_shape(x), pads, shape):
        return None
    config = Pad(tuple(first for first, _ in pads), cast(PadMode, mode), value)
    if not can_pad(scope.known_shape(x), shape, config.before, config.mode, partial(guard_at_least, scope)):
        return None
    reads = (Read(x, ANY, decides_layout=len(shape) > 2),)
    is_deferred = is_cache(op.output, scope)
    return Region("Pad", (op.node,), config, reads, (Write(op.output, FOLLOW),), is_deferred=is_deferred)


def is_cache(value: Value, scope: Scope) -> bool:
    """Whether only a TensorScatter reads a value, as its cache."""
    consumer = scope.sole_consumer(value)
    return consumer is not None and consumer.op_type == "TensorScatter" and consumer.inputs[0] is value


@lowers("Pad")
def lower_pad(region: LaidOutRegion[Pad], lowering: Lowering) -> Sequence[Step]:
    (x,), (y,), config = region.operands, region.results, region.config
    if region.channels_last:
        y = y.permute(channels_first_permutation(y.rank))
    return pad_steps(x, y, config.before, config.mode, config.value)


def guard_at_least(scope: Scope, size: Known, expected: Known) -> bool:
    """Whether a size is at least another one in every run; guarded."""
    is_ge = known_ge(size, expected)
    return scope.guard_equal(dim_max(size, expected), size) if is_ge is None else is_ge


def known_pads(op: BoundNode, scope: Scope, x: Value) -> list[tuple[Known, Known]] | None:
    """The pads before and after each axis; None if they are not known."""
    rank = len(scope.known_shape(x))
    pad_elements, axes_elements = scope.vector(op.input(1)), scope.vector(op.input(3))
    if pad_elements is None or (op.input(3) is not None and axes_elements is None):
        return None
    axes = list(range(rank)) if axes_elements is None else [int(axis) for axis in axes_elements]
    pads = [count if isinstance(count, Expr) else int(count) for count in pad_elements if count is not None]
    if len(pads) != 2 * len(axes) or not all(-rank <= axis < rank for axis in axes):
        return None
    pads_by_axis: dict[int, tuple[Known, Known]] = {}
    for i, axis in enumerate(axes):
        pads_by_axis[axis % rank] = (pads[i], pads[i + len(axes)])
    if len(pads_by_axis) != len(axes):
        return None
    return [pads_by_axis.get(axis, (0, 0)) for axis in range(rank)]


def fill_value(op: BoundNode, scope: Scope, x: Value) -> Array | None:
    """The fill value of constant mode; None if it is not constant."""
    if op.input(2) is None:
        return zero(scope.dtype(x).numpy)
    value = scope.constant(op.input(2))
    fits = value is not None and value.size == 1 and value.dtype == scope.dtype(x).numpy
    return value if fits else None


def is_padded_shape(
    shape: tuple[Known, ...], pads: list[tuple[Known, Known]], expected: tuple[Known, ...]
) -> bool:
    if len(shape) != len(expected):
        return False
    sums = zip(shape, pads, expected, strict=True)
    return all(known_equal(before + size + after, result_dim) for size, (before, after), result_dim in sums)

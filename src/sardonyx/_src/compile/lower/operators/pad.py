"""Pad with pads determined by input sizes, in any mode; falls back to the reference kernel for other pads, and a fill value that is not constant."""

from __future__ import annotations

from functools import partial
from typing import cast, get_args

from sardonyx._src.compile.kernels.data_movement.pad import PadMode, pad_steps
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.ir.dims import Expr, Known, dim_max, known_equal, known_ge
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.tensor.zeros import zero


@lowers("Pad", 25)
def lower_pad(op: BoundNode, lowering: Lowering) -> bool:
    x, shape, mode = op.input(0), lowering.shape(op.output), op.attribute("mode", str)
    if x is None or shape is None or not lowering.is_native(x) or mode not in get_args(PadMode):
        return False
    pads, value = known_pads(op, lowering, x), fill_value(op, lowering, x)
    if pads is None or value is None or not is_padded_shape(lowering.known_shape(x), pads, shape):
        return False
    pads_before, pad_mode = [first for first, _ in pads], cast(PadMode, mode)
    source, probe = lowering.any_layout(x), lowering.temporary(lowering.dtype(x), shape, "probe")
    guards = dict(lowering.guards)
    if (
        pad_steps(source, probe, pads_before, pad_mode, value, is_ge=partial(guard_at_least, lowering))
        is None
    ):
        lowering.guards = guards
        return False
    lowering.allocate_result(op.output, channels_last=lowering.has_channels_last(x))
    steps = pad_steps(
        source,
        lowering.tensors[op.output][0],
        pads_before,
        pad_mode,
        value,
        is_ge=partial(guard_at_least, lowering),
    )
    assert steps is not None, "support depends on shapes only"
    lowering.emit(*steps)
    return True


def guard_at_least(lowering: Lowering, size: Known, expected: Known) -> bool:
    """Whether a size is at least another one in every run; guarded."""
    is_ge = known_ge(size, expected)
    return lowering.guard_equal(dim_max(size, expected), size) if is_ge is None else is_ge


def known_pads(op: BoundNode, lowering: Lowering, x: Value) -> list[tuple[Known, Known]] | None:
    """The pads before and after each axis; None if they are not known."""
    rank = len(lowering.known_shape(x))
    pad_elements, axes_elements = lowering.elements(op.input(1)), lowering.elements(op.input(3))
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


def fill_value(op: BoundNode, lowering: Lowering, x: Value) -> Array | None:
    """The fill value of constant mode; None if it is not constant."""
    if op.input(2) is None:
        return zero(lowering.dtype(x).numpy)
    value = lowering.constant(op.input(2))
    fits = value is not None and value.size == 1 and value.dtype == lowering.dtype(x).numpy
    return value if fits else None


def is_padded_shape(
    shape: tuple[Known, ...], pads: list[tuple[Known, Known]], expected: tuple[Known, ...]
) -> bool:
    if len(shape) != len(expected):
        return False
    sums = zip(shape, pads, expected, strict=True)
    return all(known_equal(before + size + after, result_dim) for size, (before, after), result_dim in sums)

"""Concat: copies those inputs into slices of the output that concat elision has not placed there already.

The output is channels-last if it is concatenated along channels and one of the inputs is.
"""

from __future__ import annotations

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.views import slice_axis
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView, channels_first_permutation
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Value


@lowers("Concat", 13)
def lower_concat(op: BoundNode, lowering: Lowering) -> bool:
    shape = lowering.shape(op.output)
    values = [value for value in op.node.inputs if value is not None]
    if shape is None or not all(lowering.is_native(value) for value in values):
        return False
    axis = op.attribute("axis", int) % len(shape)
    if not parts_fill_output(lowering, values, shape, axis):
        return False
    output = lowering.concat_elision.outputs.get(op.node)
    if output is None:
        channels_last = axis == 1 and any(lowering.has_channels_last(value) for value in values)
        result = lowering.allocate_result(op.output, channels_last=channels_last)
        output = result.permute(channels_first_permutation(result.rank)) if channels_last else result
    copy_parts(lowering, values, output, axis)
    lowering.bind(op.output, output)
    return True


def parts_fill_output(lowering: Lowering, values: list[Value], shape: tuple[Known, ...], axis: int) -> bool:
    """Whether the inputs agree in all other dims, and their sizes along the axis add up to the output's; guarded."""
    total: Known = 0
    for value in values:
        dims = lowering.known_shape(value)
        if len(dims) != len(shape) or any(
            not lowering.guard_equal(a, b)
            for i, (a, b) in enumerate(zip(dims, shape, strict=True))
            if i != axis
        ):
            return False
        total = total + dims[axis]
    return lowering.guard_equal(total, shape[axis])


def copy_parts(lowering: Lowering, values: list[Value], output: TensorView, axis: int) -> None:
    """Copies each input into its slice of the output, unless it is there already."""
    start: Known = 0
    for value in values:
        size = lowering.known_shape(value)[axis]
        target = slice_axis(output, axis, start, size)
        lowering.any_layout(value)
        if target not in lowering.tensors[value]:
            lowering.emit(copy_step(lowering.tensors[value][0], target))
        start = start + size

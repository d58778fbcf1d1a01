"""Slice in a subgraph with computed starts and ends: a view, with an offset and a length that a step binds (`program.encoding.local_sizes`).

Falls back to the reference kernel for steps that are not positive constants, and for axes that are not constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.kernels.data_movement.slice_bounds import slice_bounds_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Alias, Read, Region, Scope
from sardonyx._src.compile.partition.regions.requirements import require, require_value
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import DENSE, Step, TensorView
from sardonyx._src.compile.program.encoding.local_sizes import binding_step
from sardonyx._src.compile.program.operands.views import slice_axis
from sardonyx._src.compile.program.steps.step import LocalSizes
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Known, ceil_div, symbol


@dataclass(frozen=True, slots=True)
class ComputedAxis:
    """A sliced axis: every `step`-th element from `first` on, `size` elements.

    whole: the size of the axis before slicing.
    first, size: names of the symbols for these numbers.
    """

    axis: int
    whole: Known
    first: str
    size: str
    step: int

    def slice(self, tensor: TensorView) -> TensorView:
        return slice_axis(tensor, self.axis, symbol(self.first), symbol(self.size), self.step)


def match_computed_slice(op: BoundNode, scope: Scope) -> Region[tuple[ComputedAxis, ...]]:
    """The region of a Slice whose result has a data-dependent length along each sliced axis."""
    x, starts, ends = (require_value(op.input(i)) for i in range(3))
    sizes = scope.data_dependent_axes(op.output)
    require(not scope.binds_in_python and scope.is_native(x) and scope.shape(op.output) is not None)
    whole = scope.known_shape(x)
    axes, steps = sliced_axes(op, scope, len(whole))
    require(sorted(axes) == sorted(sizes))
    require(all(is_position_list(scope, value, len(axes)) for value in (starts, ends)))
    require(len({scope.dtype_of(value) for value in op.node.inputs[1:] if value is not None}) == 1)
    config = tuple(
        ComputedAxis(axis, whole[axis], f"start of {sizes[axis]}", sizes[axis], step)
        for axis, step in zip(axes, steps, strict=True)
    )
    alias = Alias(op.output, x, lambda tensor: slice_axes(tensor, config))
    reads = tuple(Read(value, DENSE) for value in (starts, ends))
    return Region("ComputedSlice", (op.node,), config, reads, (), (alias,), binds_sizes=True)


def sliced_axes(op: BoundNode, scope: Scope, rank: int) -> tuple[list[int], list[int]]:
    """The axes and the steps, which must be constant."""
    starts = require_value(scope.shape(op.input(1)))
    require(len(starts) == 1 and isinstance(starts[0], int))
    defaults = [[*range(int(str(starts[0])))], [1] * int(str(starts[0]))]
    lists = []
    for value, default in zip((op.input(3), op.input(4)), defaults, strict=True):
        elements = None if value is None else require_value(scope.constant(value))
        lists.append(default if elements is None else [int(n) for n in elements.reshape(-1)])
    axes, steps = lists
    require(len(axes) == len(steps) == len(defaults[0]) and all(-rank <= axis < rank for axis in axes))
    require(all(step > 0 for step in steps))
    return [axis % rank for axis in axes], steps


def is_position_list(scope: Scope, value: Value, count: int) -> bool:
    """Whether kernels can read a value as `count` starts or ends."""
    is_integer = scope.dtype_of(value) in (DataType.INT32, DataType.INT64)
    return is_integer and scope.is_native(value) and scope.shape(value) == (count,)


def slice_axes(tensor: TensorView, axes: Sequence[ComputedAxis]) -> TensorView:
    for axis in axes:
        tensor = axis.slice(tensor)
    return tensor


@lowers("ComputedSlice")
def lower_computed_slice(
    region: LaidOutRegion[tuple[ComputedAxis, ...]], lowering: Lowering
) -> Sequence[Step]:
    """The step that computes the bounds, and the binding step; none if an earlier slice has bound the same symbols."""
    axes, (starts, ends) = region.config, region.operands
    sizes = {axis.size for axis in axes}
    if sizes <= lowering.local_sizes:
        return ()
    lowering.local_sizes |= sizes
    bounds = lowering.temporary(DataType.INT64, (len(axes), 2), f"{region.name}.bounds")
    lengths, steps = [axis.whole for axis in axes], [axis.step for axis in axes]
    return (
        slice_bounds_step(starts, ends, lengths, steps, bounds),
        binding_step(bound_sizes(axes, bounds), lowering.status),
    )


def bound_sizes(axes: Sequence[ComputedAxis], bounds: TensorView) -> LocalSizes:
    """The sizes to bind: the first index and the number of elements along each axis, which must be inside of the tensor."""
    counts: dict[str, TensorView] = {}
    limits: dict[str, Known] = {}
    at_most: list[tuple[Known, Known]] = []
    for i, axis in enumerate(axes):
        for offset, name in enumerate((axis.first, axis.size)):
            counts[name] = replace(bounds, shape=(1,), strides=(1,), offset=2 * i + offset)
        limits |= {axis.first: axis.whole, axis.size: ceil_div(axis.whole, axis.step)}
        last = symbol(axis.first) + (symbol(axis.size) - 1) * axis.step
        at_most.append((last + 1, axis.whole))
    return LocalSizes(counts, limits, tuple(at_most))

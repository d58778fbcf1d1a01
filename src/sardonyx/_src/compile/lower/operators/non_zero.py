"""NonZero of numbers and bools: coordinates are written into a buffer with room for all elements, then the used part is copied.

Falls back to the reference kernel for scalars, half precision and strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.codegen.element_types import HALF_TYPES, LLVM_ELEMENTS
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.selection.non_zero import non_zero_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.partition.regions.counted_value import CountedValue, bind_count, counted_value
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import DENSE
from sardonyx._src.compile.program.steps.program import Action
from sardonyx._src.dtypes import DataType


@matches("NonZero", 13)
def match_non_zero(op: BoundNode, scope: Scope) -> Region[CountedValue] | None:
    x, counted = op.input(0), counted_value(scope, op.output)
    if x is None or counted is None or not scope.is_native(x) or not scope.known_shape(x):
        return None
    dtype = scope.dtype(x)
    if dtype not in LLVM_ELEMENTS or dtype in HALF_TYPES:
        return None
    return Region("NonZero", (op.node,), counted, (Read(x, DENSE),), (Write(op.output),), binds_sizes=True)


@lowers("NonZero")
def lower_non_zero(region: LaidOutRegion[CountedValue], lowering: Lowering) -> Sequence[Action]:
    (x,), (y,) = region.operands, region.results
    capacity = x.num_elements + 1
    coordinates = lowering.temporary(DataType.INT64, (x.rank, capacity), f"{region.name}.coordinates")
    count = lowering.temporary(DataType.INT64, (1,), f"{region.name}.count")
    return (
        non_zero_step(x, coordinates, count),
        bind_count(region.config, y.rank, count, x.num_elements),
        copy_step(replace(coordinates, shape=y.shape), y),
    )

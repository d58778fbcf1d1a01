"""Unique of numbers and bools: distinct elements or slices, numbered by a hash table, and sorted if that is asked for.

Falls back for strings, and in subgraphs, where no sizes are bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.gather import gather_step
from sardonyx._src.compile.kernels.selection.distinct_rows import DistinctRows, distinct_rows_step
from sardonyx._src.compile.kernels.selection.order_codes import order_codes_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.partition.regions.counted_value import CountedValue, bind_count, counted_value
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import DENSE, TensorView
from sardonyx._src.compile.program.steps.program import Action
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import dim_product

VALUES, FIRST, INVERSE, COUNTS = range(4)


@dataclass(frozen=True, slots=True)
class Unique:
    """The parameters of a Unique.

    axis: the axis of the slices; None for distinct elements.
    used: the indices of the outputs that are read.
    counted: the first used output with a data-dependent length; None if only the inverse is used.
    """

    axis: int | None
    is_sorted: bool
    used: tuple[int, ...]
    counted: CountedValue | None


@matches("Unique", 28)
def match_unique(op: BoundNode, scope: Scope) -> Region[Unique] | None:
    x, axis = op.input(0), op.attributes.get("axis")
    if x is None or not scope.is_native(x):
        return None
    dtype, rank = scope.dtype(x), len(scope.known_shape(x))
    if dtype not in LLVM_ELEMENTS:
        return None
    if isinstance(axis, int) and not -rank <= axis < rank:
        return None
    used = tuple(i for i in range(len(op.node.outputs)) if op.is_output_used(i))
    values = {i: op.node.outputs[i] for i in used}
    counted = [counted_value(scope, values[i]) for i in used if i != INVERSE]
    if not used or None in counted or len({c.symbol for c in counted if c is not None}) > 1:
        return None
    config = Unique(
        axis % rank if isinstance(axis, int) else None,
        bool(op.attribute("sorted", int)),
        used,
        counted[0] if counted else None,
    )
    writes = tuple(Write(value) for value in values.values())
    return Region("Unique", (op.node,), config, (Read(x, DENSE),), writes, binds_sizes=bool(counted))


@lowers("Unique")
def lower_unique(region: LaidOutRegion[Unique], lowering: Lowering) -> Sequence[Action]:
    config, (x,) = region.config, region.operands
    results = dict(zip(config.used, region.results, strict=True))
    if config.axis is None:
        x = x.reshape((x.num_elements,))
    axis = config.axis or 0
    outer, rows, inner = dim_product(x.shape[:axis]), x.shape[axis], dim_product(x.shape[axis + 1 :])

    def temporary(name: str, *shape: object) -> TensorView:
        return lowering.temporary(DataType.INT64, shape, f"{region.name}.{name}")  # type: ignore[arg-type]

    codes, room = temporary("codes", rows, outer * inner), rows + 1
    inverse = results.get(INVERSE) or temporary("inverse", room)
    buffers = DistinctRows(
        temporary("first", room),
        inverse,
        temporary("counts", room),
        temporary("total", 1),
        temporary("table", 2 * rows + 1),
        temporary("order", 2 * room),
    )
    actions: list[Action] = [
        order_codes_step(x, codes, outer, rows, inner),
        distinct_rows_step(codes, buffers, is_sorted=config.is_sorted),
    ]
    if config.counted is not None:
        tensor = next(results[i] for i in config.used if i != INVERSE)
        actions.append(bind_count(config.counted, tensor.rank, buffers.total, rows))
    for i, source in ((FIRST, buffers.first), (COUNTS, buffers.counts)):
        if i in results:
            actions.append(copy_step(replace(source, shape=results[i].shape), results[i]))
    if VALUES in results:
        y = results[VALUES]
        first = replace(buffers.first, shape=(y.shape[axis],))
        actions.append(gather_step(x, first, y, axis, lowering.status))
    return actions

"""Updates of states as epilogues: what an optimizer computes of a gradient, in the product that computes the gradient.

An update reads and writes several times as much memory as the product, which has little to do with memory: in the epilogue, one waits for
memory while the other computes.  The gradient itself is not stored.
"""

from __future__ import annotations

from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.partition.epilogues import can_take, operand_layouts, read_operand
from sardonyx._src.compile.partition.fusion import MAX_RESULTS
from sardonyx._src.compile.partition.group_builder import GroupBuilder
from sardonyx._src.compile.partition.region import FusedEpilogue, Shape
from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value


def fuse_update(scope: Scope, value: Value) -> tuple[FusedEpilogue, tuple[Value, ...]] | None:
    """The epilogue of a product of matrices that is read by an update alone, and the results after the first.

    All results are outputs of the graph; None if there is no such update, or the product is of few rows or columns.
    """
    shape = scope.known_shape(value)
    is_large = all(isinstance(dim, int) and dim > GemmTuning.max_rows_in_place for dim in shape)
    if len(shape) != 2 or not is_large or value in scope.outputs:
        return None

    def accepts(operand: Value, dims: Shape) -> bool:
        return can_take(scope, operand, dims, shape, 1, channels_last=False)

    before = dict(scope.guards)
    builder = GroupBuilder(scope, shape, accepts, "o", DataType.FLOAT, MAX_RESULTS)
    builder.define(value, RESULT)
    group = builder.grow()
    if (
        group is None
        or len(group.results) < 2
        or any(result not in scope.outputs for result in group.results)
    ):
        scope.guards = before
        return None
    kinds = operand_layouts(group, 1)
    reads = tuple(
        read_operand(operand, kind, channels_last=False)
        for operand, kind in zip(group.operands, kinds, strict=True)
    )
    epilogue = Epilogue(group.values[0], kinds, further=group.values[1:])
    fused = FusedEpilogue(epilogue, group.results[0], tuple(group.nodes), reads, tuple(group.shapes))
    return fused, group.results[1:]

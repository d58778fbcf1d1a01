"""GroupedMatMul of float32: a step sorts rows by group, then follows a grouped GEMM.  An index that is no group bails out.

`prepare/decompositions/grouped_matmul.py` adds the bias.  Products of float64 fall back to the reference
kernel, which groups rows as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.kernels.data_movement.gather import INDEX_ELEMENTS
from sardonyx._src.compile.kernels.gemm.floats.grouped_matmul import grouped_matmul_step
from sardonyx._src.compile.kernels.gemm.packing.panels import pack_tensor
from sardonyx._src.compile.kernels.selection.group_rows import SPARE_STARTS, group_rows_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.lower.constant_panels import constant_panels
from sardonyx._src.compile.lower.operators.matmul import are_native_floats
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import DENSE, Step
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Value


@dataclass(frozen=True, slots=True)
class GroupedProduct:
    """The right operand of a grouped product.

    matrices: the elements [G, K, N] if they are constant.
    value: the operand, by which packed panels are shared.
    """

    matrices: Array | None
    value: Value


@matches("GroupedMatMul", 29)
def match_grouped_matmul(op: BoundNode, scope: Scope) -> Region[GroupedProduct] | None:
    x, weights, indices = op.input(0), op.input(1), op.input(2)
    if x is None or weights is None or indices is None or op.input(3) is not None:
        return None
    if not are_native_floats(scope, x, weights) or scope.shape(op.output) is None:
        return None
    if not scope.is_native(indices) or scope.dtype_of(indices) not in INDEX_ELEMENTS:
        return None
    (m, k), (_, inner, n), (tokens, s) = (scope.known_shape(value) for value in (x, weights, indices))
    pairs = zip((k, m, *scope.known_shape(op.output)), (inner, tokens, m, s, n), strict=True)
    if not all(scope.guard_equal(a, b) for a, b in pairs):
        return None
    matrices = scope.constant_source(weights)
    reads = [Read(x, DENSE), Read(indices, DENSE), *([] if matrices is not None else [Read(weights, DENSE)])]
    config = GroupedProduct(matrices, weights)
    return Region("GroupedMatMul", (op.node,), config, tuple(reads), (Write(op.output, DENSE),))


@lowers("GroupedMatMul")
def lower_grouped_matmul(region: LaidOutRegion[GroupedProduct], lowering: Lowering) -> Sequence[Step]:
    x, indices, *computed = region.operands
    config, y = region.config, region.results[0]
    steps: Sequence[Step] = ()
    if config.matrices is None:
        panels, steps = pack_tensor(computed[0], lowering.target, config.value.name)
    else:
        panels = constant_panels(config.matrices, config.value, lowering)
    rows = indices.num_elements
    groups = computed[0].shape[0] if config.matrices is None else len(config.matrices)
    order = lowering.temporary(DataType.INT64, (rows,), f"{region.name}.order")
    starts = lowering.temporary(DataType.INT64, (groups + SPARE_STARTS,), f"{region.name}.starts")
    return (
        *steps,
        group_rows_step(indices.reshape((rows,)), order, starts, groups, lowering.status),
        grouped_matmul_step(x, panels, groups, order, starts, y),
    )

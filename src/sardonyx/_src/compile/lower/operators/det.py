"""Det of float32 matrices of up to 16 rows.  Falls back to the reference kernel for larger ones, which LAPACK computes in blocks."""

from __future__ import annotations

from sardonyx._src.compile.kernels.reductions.determinant import determinant_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import DENSE, Step
from sardonyx._src.dtypes import DataType

MAX_ROWS = 16


@matches("Det", 22)
def match_det(op: BoundNode, scope: Scope) -> Region[int] | None:
    x = op.input(0)
    if x is None or not scope.is_native(x) or scope.dtype_of(x) is not DataType.FLOAT:
        return None
    shape = scope.known_shape(x)
    if len(shape) < 2 or scope.shape(op.output) is None or shape[-1] != shape[-2]:
        return None
    size = shape[-1]
    if not isinstance(size, int) or not 1 <= size <= MAX_ROWS:
        return None
    return Region("Det", (op.node,), size, (Read(x, DENSE),), (Write(op.output),))


@lowers("Det")
def lower_det(region: LaidOutRegion[int], lowering: Lowering) -> Step:
    return determinant_step(region.operands[0], region.results[0], region.config)

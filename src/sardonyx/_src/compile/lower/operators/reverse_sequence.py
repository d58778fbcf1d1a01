"""ReverseSequence; the kernel checks the lengths, and a run with one out of range bails out."""

from __future__ import annotations

from sardonyx._src.compile.kernels.data_movement.reverse_sequence import reverse_sequence_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.partition.operands.recurrent_layer import guard_shape
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import Step
from sardonyx._src.dtypes import DataType


@matches("ReverseSequence", 28)
def match_reverse_sequence(op: BoundNode, scope: Scope) -> Region[int] | None:
    data, lengths = op.input(0), op.input(1)
    if data is None or lengths is None or not (scope.is_native(data) and scope.is_native(lengths)):
        return None
    axes = op.attribute("batch_axis", int), op.attribute("time_axis", int)
    shape = scope.known_shape(data)
    if set(axes) != {0, 1} or len(shape) < 2 or scope.dtype_of(lengths) is not DataType.INT64:
        return None
    if scope.dtype_of(data) is not scope.dtype_of(op.output) or not guard_shape(
        scope, scope.shape(op.output), shape
    ):
        return None
    if not guard_shape(scope, scope.shape(lengths), (shape[axes[0]],)):
        return None
    if not scope.guard_ge(shape[axes[1]], 1):
        return None  # without time steps, the kernel reads no lengths, and so does not check them
    reads = (Read(data), Read(lengths))
    return Region("ReverseSequence", (op.node,), axes[1], reads, (Write(op.output),))


@lowers("ReverseSequence")
def lower_reverse_sequence(region: LaidOutRegion[int], lowering: Lowering) -> Step:
    data, lengths = region.operands
    return reverse_sequence_step(data, lengths, region.results[0], lowering.status, region.config)

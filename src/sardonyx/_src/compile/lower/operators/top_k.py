"""TopK with a k that input sizes determine; falls back to the reference kernel for any other k."""

from __future__ import annotations

from sardonyx._src.compile.kernels.reductions.top_k import TOP_K_ELEMENTS, top_k_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Shape, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, Step
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType

MAX_TOP_K_ROW = 1 << 31  # elements of a row


@dataclass(frozen=True, slots=True)
class TopK:
    """The parameters of a TopK.

    shape: the dims of both outputs.
    dtype: the element type of the values.
    used: for values and indices, whether the output is read, so that the region writes it.
    """

    axis: int
    largest: bool
    shape: Shape
    dtype: DataType
    used: tuple[bool, ...]


@matches("TopK", 24)
def match_top_k(op: BoundNode, scope: Scope) -> Region[TopK] | None:
    x, count_elements = op.input(0), scope.vector(op.input(1))
    if x is None or not scope.is_native(x) or scope.dtype(x) not in TOP_K_ELEMENTS:
        return None
    shape, result_shape, axis = scope.known_shape(x), scope.shape(op.output), op.attribute("axis", int)
    if (
        result_shape is None
        or count_elements is None
        or count_elements.shape != (1,)
        or not -len(shape) <= axis < len(shape)
    ):
        return None
    axis %= len(shape)
    if result_shape[axis] != count_elements[0] or result_shape != (
        *shape[:axis],
        result_shape[axis],
        *shape[axis + 1 :],
    ):
        return None
    size, count = shape[axis], result_shape[axis]
    if not all(
        scope.guard_ge(larger, smaller)
        for larger, smaller in ((size, count), (count, 0), (MAX_TOP_K_ROW, size))
    ):
        return None
    largest = bool(op.attribute("largest", int))
    used = tuple(op.is_output_used(i) for i in (0, 1))
    config = TopK(axis, largest, result_shape, scope.dtype(x), used)
    writes = tuple(Write(op.node.outputs[i]) for i in (0, 1) if used[i])
    return Region("TopK", (op.node,), config, (Read(x, ANY),), writes)


@lowers("TopK")
def lower_top_k(region: LaidOutRegion[TopK], lowering: Lowering) -> Step:
    config, results = region.config, iter(region.results)
    values, indices = (
        next(results) if is_used else lowering.temporary(dtype, config.shape, f"{region.name}.unused")
        for is_used, dtype in zip(config.used, (config.dtype, DataType.INT64), strict=True)
    )
    return top_k_step(region.operands[0], values, indices, config.axis, largest=config.largest)

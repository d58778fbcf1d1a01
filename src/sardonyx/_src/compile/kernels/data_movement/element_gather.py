"""Gather of single elements from a vector: a vector of indices at a time, with bounds checks by lane.

    for vector of indices: add the size to negative indices -> mask of indices in bounds -> gather -> store

Elements at indices out of bounds are not read; their results are 0.  The greatest offset of such an index is recorded in the
status, as in `indexed_copy`, which computes all other gathers.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import I64, Element, LLVMType, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.element_types import resize_integer
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.memcpy import INTEGERS_BY_WIDTH
from sardonyx._src.compile.kernels.loops.lanes import reduce_to_scalar
from sardonyx._src.compile.kernels.loops.memory import load_lanes
from sardonyx._src.compile.kernels.loops.strided_loops import unit_row_range
from sardonyx._src.compile.kernels.loops.vectors import load_typed, loop_vectors, store_vector
from sardonyx._src.compile.kernels.tuning import DataMovementTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView, element_bytes
from sardonyx._src.ir.dims import Known, ceil_div

GATHERED_BYTES = (4, 8)  # the sizes of elements that processors gather
PARAMETERS = Parameters("x", "y", "indices", "status", "count", "unit_elements", "size")


def element_gather_step(
    x: TensorView, indices: TensorView, index: Element, y: TensorView, count: Known, status: TensorView
) -> Step:
    """The step of y[i] = x[indices[i]] for `count` contiguous indices, and a contiguous x [n] of elements of 4 or 8 bytes.

    index: the type of the indices.
    """
    size, unit = element_bytes(x.dtype), DataMovementTuning.single_element_rows
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x, y=y, indices=indices, status=status, count=count, unit_elements=unit, size=x.num_elements
    )
    source = partial(element_gather_module, index=index, element=INTEGERS_BY_WIDTH[size])
    kernel = Kernel(f"gather_elements_{index}_{size}", source, PARAMETERS)
    return Step(
        kernel, args, ceil_div(count, unit), (x, indices), (y, status), bytes_accessed=count * (2 * size)
    )


def element_gather_module(name: str, target: Target, *, index: Element, element: Element) -> str:
    b = KernelBuilder(target, PARAMETERS)
    x, y, indices, status = b.pointers("x", "y", "indices", "status")
    count, unit_elements, size = b.integers("count", "unit_elements", "size")
    index_type = LLVMType(index, target.lanes)
    worst = b.new_slot("worst", LLVMType("i64", target.lanes))
    b.store(worst, b.constant(0, worst.type))
    for i, mask in loop_vectors(b, *unit_row_range(b, count, unit_elements)):
        loaded = load_typed(b, index_type, b.gep(indices, i, index), mask)
        position = resize_integer(loaded, "i64")
        position = b.select(position < 0, position + b.splat(size, target.lanes), position)
        is_valid = (position >= 0) & (position < b.splat(size, target.lanes))
        is_read = is_valid if mask is None else is_valid & mask
        store_vector(b, load_lanes(b, x, position, element, is_read), b.gep(y, i, element), mask)
        is_wrong = is_valid.eq(0) if mask is None else is_valid.eq(0) & mask
        b.store(worst, b.select(is_wrong, lane_numbers(b, i + 1), b.load(worst)))
    record_error(b, status, b.load(worst))
    return b.build_module(name)


def lane_numbers(b: KernelBuilder, first: LLVMValue) -> LLVMValue:
    """first, first + 1, ... in the lanes of a vector."""
    lanes = b.target.lanes
    if lanes == 1:
        return first
    steps = ", ".join(f"i64 {lane}" for lane in range(lanes))
    return LLVMValue(b, LLVMType("i64", lanes), f"<{steps}>") + b.splat(first, lanes)


def record_error(b: KernelBuilder, status: str, marks: LLVMValue) -> None:
    """Raises the status to the greatest mark; marks: for each lane 1 + the offset of an index out of bounds, or 0."""
    mark = reduce_to_scalar(b, lambda low, high: b.select(low > high, low, high), marks)
    with b.if_then(mark > 0):
        b.lines.append(f" atomicrmw max ptr {status}, {b.as_value(mark, I64)} monotonic, align 8")

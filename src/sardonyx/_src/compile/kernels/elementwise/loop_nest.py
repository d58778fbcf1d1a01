"""Loop nest of elementwise kernels: blocks of rows, and SIMD vectors along each row.

A unit of work is about `unit_elements` elements: a segment of one long row, or several short rows.  Loop nest:

    for each row of the unit:                       strided addresses, advanced like an odometer
        for each `unroll` vectors of the row:       `row_segment`, interleaved to hide latency
        for each single vector of the remainder     the last one masked; without cheap masks, scalars follow instead
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation, Target
from sardonyx._src.compile.codegen.element_types import HALF_TYPES, MINIFLOAT_TYPES, memory_type
from sardonyx._src.compile.codegen.expressions import FUNCTION_CALLS, Apply, topological_order
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.elementwise.row_segment import (
    ElementwiseRow,
    emit_segment,
    load_broadcast_inputs,
    make_segment,
)
from sardonyx._src.compile.kernels.elementwise.variant import ElementwiseVariant, elementwise_parameters
from sardonyx._src.compile.kernels.tuning import ElementwiseTuning, tuning_for
from sardonyx._src.compile.program import element_bytes
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ElementwiseArguments:
    """The loaded arguments of a kernel, by the names of `elementwise_parameters`.

    dims: the dims outside of a row, except the first.
    strides: for each tensor, the strides along all dims outside of a row.
    steps: for each tensor, the stride along a row if its access pattern is "far", else None.
    tensors: the addresses of the tensors.
    """

    variant: ElementwiseVariant
    length: LLVMValue
    rows: LLVMValue
    rows_per_unit: LLVMValue
    dims: list[LLVMValue]
    strides: list[list[LLVMValue]]
    steps: list[LLVMValue | None]
    tensors: Sequence[str]


def elementwise_module(name: str, target: Target, variant: ElementwiseVariant) -> str:
    """The LLVM module of a variant.  Units are segments of a single row, or segments of a block of rows."""
    b = KernelBuilder(target, elementwise_parameters(variant))
    args, size = load_arguments(b, variant), ElementwiseTuning.unit_elements
    if variant.rank == 0:
        first, end = b.first_unit * size, b.min(b.end_unit * size, args.length)
        emit_row(b, variant, args.steps, args.tensors, first, end)
        return b.build_module(name)
    segments = b.udiv(args.length + (size - 1), size)
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        block, segment = b.udivmod(unit, segments)
        first = segment * size
        end = b.min(first + size, args.length)
        with loop_rows(b, args, block) as addresses:
            emit_row(b, variant, args.steps, addresses, first, end)
    return b.build_module(name)


def load_arguments(b: KernelBuilder, variant: ElementwiseVariant) -> ElementwiseArguments:
    names, rank = variant.tensor_names, variant.rank
    length, rows, rows_per_unit = b.integers("length", "rows", "rows_per_unit")
    dims = [b.integer(f"dim{axis}") for axis in range(1, rank)]
    strides = [[b.integer(f"{name}_stride{axis}") for axis in range(rank)] for name in names]
    steps = [
        b.integer(f"{name}_step") if operand.access == "far" else None
        for name, operand in zip(names, variant.operands, strict=True)
    ]
    tensors = b.pointers(*names)
    return ElementwiseArguments(variant, length, rows, rows_per_unit, dims, strides, steps, tensors)


# --- rows ------------------------------------------------------------------------------------


@contextmanager
def loop_rows(b: KernelBuilder, args: ElementwiseArguments, block: LLVMValue) -> Iterator[list[str]]:
    """The loop over the rows of a block: yields the address of a row in each tensor."""
    operands = args.variant.operands
    first = block * args.rows_per_unit
    indices = [b.new_slot("index", I64) for _ in args.dims]
    offsets = [b.new_slot("base", I64) for _ in operands]
    initialize_offsets(b, args, first, indices, offsets)
    with b.loop(first, b.min(first + args.rows_per_unit, args.rows), name="row"):
        yield [
            b.gep(tensor, b.load(offset), memory_type(operand.dtype).llvm_element)
            for tensor, offset, operand in zip(args.tensors, offsets, operands, strict=True)
        ]
        advance_offsets(b, args, len(args.dims), indices, offsets)


def initialize_offsets(
    b: KernelBuilder,
    args: ElementwiseArguments,
    row: LLVMValue,
    indices: list[MemoryLocation],
    offsets: list[MemoryLocation],
) -> None:
    """Sets the indices of a row along all dims except the first, and its offset in each tensor."""
    inner: list[LLVMValue] = []
    for dim in reversed(args.dims):
        row, index = b.udivmod(row, dim)
        inner.insert(0, index)
    for slot, index in zip(indices, inner, strict=True):
        b.store(slot, index)
    for slot, strides in zip(offsets, args.strides, strict=True):
        total = b.constant(0, I64)
        for index, stride in zip([row, *inner], strides, strict=True):
            total = total + index * stride
        b.store(slot, total)


def advance_offsets(
    b: KernelBuilder,
    args: ElementwiseArguments,
    axis: int,
    indices: list[MemoryLocation],
    offsets: list[MemoryLocation],
) -> None:
    """Moves to the next row along an axis; at its end wraps around and advances the next outer axis."""
    for offset, strides in zip(offsets, args.strides, strict=True):
        b.store(offset, b.load(offset) + strides[axis])
    if axis == 0:
        return
    dim, index = args.dims[axis - 1], indices[axis - 1]
    b.store(index, b.load(index) + 1)
    with b.if_then(b.load(index) >= dim):
        b.store(index, b.constant(0, I64))
        for offset, strides in zip(offsets, args.strides, strict=True):
            b.store(offset, b.load(offset) - dim * strides[axis])
        advance_offsets(b, args, axis - 1, indices, offsets)


# --- along a row -----------------------------------------------------------------------------


def emit_row(
    b: KernelBuilder,
    variant: ElementwiseVariant,
    steps: Sequence[LLVMValue | None],
    addresses: Sequence[str],
    first: LLVMValue,
    end: LLVMValue,
    unroll: int = 0,
) -> None:
    """The elements `first` to `end` of a row: unrolled vectors, single vectors, then the remainder.

    steps, addresses: of each tensor, as of `ElementwiseRow`.  unroll: the number of vectors; 0 for that of the tuning.
    """
    row = ElementwiseRow(variant, addresses, steps, load_broadcast_inputs(b, variant, addresses))
    lanes, unroll = vector_lanes(variant, b.target), unroll or unrolled_vectors(variant, b.target)
    segment = make_segment(b, row, lanes, unroll)
    with b.loop(first, end, lanes * unroll, "vectors") as i:
        emit_segment(b, segment, i)
    if has_cheap_masks(variant, b.target):
        with b.loop(i, end + (lanes - 1), lanes, "vector") as i:
            emit_segment(b, make_segment(b, row, lanes, 1, b.lane_mask(end - i, lanes)), i)
        return
    for width in dict.fromkeys((lanes, 1)):
        segment = make_segment(b, row, width, 1)
        with b.loop(i, end, width, "vector") as i:
            emit_segment(b, segment, i)


def vector_lanes(variant: ElementwiseVariant, target: Target) -> int:
    """The lanes of a vector of the widest operand; floats of at most 16 bits are computed in float32."""
    as_float32 = HALF_TYPES | MINIFLOAT_TYPES
    widest = max(4 if o.dtype in as_float32 else element_bytes(o.dtype) for o in variant.operands)
    return max(target.lanes * 4 // widest, 1) if target.lanes > 1 else 1


def has_cheap_masks(variant: ElementwiseVariant, target: Target) -> bool:
    """Whether the target has masked loads and stores of all operands; with 256-bit vectors, elements must have 32 bits."""
    has_wide_elements = all(element_bytes(o.dtype) >= 4 for o in variant.operands)
    return target.lanes == 16 or (
        target.lanes == 8 and vector_lanes(variant, target) <= 8 and has_wide_elements
    )


def unrolled_vectors(variant: ElementwiseVariant, target: Target) -> int:
    tuning = tuning_for(target).elementwise
    return tuning.unroll_one_function if len(expensive_operations(variant)) == 1 else tuning.unroll


def expensive_operations(variant: ElementwiseVariant) -> list[Apply]:
    """The operations of a variant that are calls of vector functions."""
    nodes = [node for value in variant.values for node in topological_order(value)]
    return [node for node in nodes if isinstance(node, Apply) and node.op in FUNCTION_CALLS]

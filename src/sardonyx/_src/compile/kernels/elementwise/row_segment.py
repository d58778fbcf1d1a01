"""Body of an elementwise kernel: loads, computes and stores a segment of a row, which is one or several SIMD vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.blocks import alignment
from sardonyx._src.compile.codegen.element_types import STORED_ELEMENTS, from_memory, memory_type, to_memory
from sardonyx._src.compile.codegen.emit_expressions import LoadLocal
from sardonyx._src.compile.codegen.expressions import Local
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.elementwise.variant import ElementwiseVariant
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ElementwiseRow:
    """A row of all tensors, outputs first.

    addresses: the address of the row in each tensor.
    steps: for each tensor, the stride along the row if its access pattern is "far", else None.
    broadcast: the loaded inputs with the access pattern "same", by operand index.
    """

    variant: ElementwiseVariant
    addresses: Sequence[str]
    steps: Sequence[LLVMValue | None]
    broadcast: Mapping[int, LLVMValue]


@dataclass(frozen=True, slots=True)
class RowSegment:
    """`count` vectors of `lanes` elements of a row.

    mask: the lanes to load and store of a partial vector; None for whole vectors.
    broadcast: the broadcast inputs of the row, in every lane.
    """

    row: ElementwiseRow
    lanes: int
    count: int
    mask: LLVMValue | None
    broadcast: Mapping[int, LLVMValue]

    def memory_type(self, operand: int) -> LLVMType:
        """The type of a vector of an operand in memory."""
        return LLVMType(memory_type(self.row.variant.operands[operand].dtype).element, self.lanes)


def load_broadcast_inputs(
    b: KernelBuilder, variant: ElementwiseVariant, addresses: Sequence[str]
) -> dict[int, LLVMValue]:
    """Loads the inputs that have one element for the whole row; returns them by operand index."""
    return {
        i: from_memory(b.load(MemoryLocation(addresses[i], memory_type(o.dtype))), o.dtype)
        for i, o in enumerate(variant.operands)
        if o.access == "same" and i >= len(variant.outputs)
    }


def make_segment(
    b: KernelBuilder, row: ElementwiseRow, lanes: int, count: int, mask: LLVMValue | None = None
) -> RowSegment:
    """A segment; emits the splats of its broadcast inputs, and therefore is to be called outside of the loop over segments."""
    broadcast = {i: b.splat(value, lanes) for i, value in row.broadcast.items()}
    return RowSegment(row, lanes, count, mask, broadcast)


def emit_segment(b: KernelBuilder, segment: RowSegment, first: LLVMValue) -> None:
    """Emits the segment from an index on.  All loads come before the stores, since an output may alias an input."""
    variant = segment.row.variant
    num_outputs = len(variant.outputs)
    indices = [first + k * segment.lanes for k in range(segment.count)]
    inputs = [
        [load_operand(b, segment, num_outputs + i, index) for i in range(len(variant.inputs))]
        for index in indices
    ]
    types = [LLVMType(STORED_ELEMENTS[o.dtype], segment.lanes) for o in variant.outputs]
    results = b.emit_interleaved(variant.values, types, [operand_loader(vectors) for vectors in inputs])
    for index, values in zip(indices, results, strict=True):
        for i, (value, output) in enumerate(zip(values, variant.outputs, strict=True)):
            store_output(b, segment, i, index, to_memory(value, output.dtype))


def operand_loader(inputs: Sequence[LLVMValue]) -> LoadLocal:
    """Resolves the locals `i0`, `i1`, ... of an expression to loaded inputs."""

    def load_local(local: Local) -> LLVMValue:
        assert isinstance(local, Local), f"expected an input of an elementwise kernel, got {local}"
        return inputs[int(local.name[1:])]

    return load_local


# --- memory ----------------------------------------------------------------------------------


def load_operand(b: KernelBuilder, segment: RowSegment, operand: int, index: LLVMValue) -> LLVMValue:
    """The vector of an operand from an index on, in its type in registers."""
    if operand in segment.broadcast:
        return segment.broadcast[operand]
    if (step := segment.row.steps[operand]) is not None:
        value = gather(b, segment, operand, index, step)
    elif segment.mask is not None:
        value = b.masked_load(segment.mask, vector_slot(b, segment, operand, index))
    else:
        value = b.load(vector_slot(b, segment, operand, index))
    return from_memory(value, segment.row.variant.operands[operand].dtype)


def store_output(
    b: KernelBuilder, segment: RowSegment, operand: int, index: LLVMValue, value: LLVMValue
) -> None:
    if (step := segment.row.steps[operand]) is not None:
        scatter(b, segment, operand, index, step, value)
    elif segment.mask is not None:
        b.masked_store(segment.mask, vector_slot(b, segment, operand, index), value)
    else:
        b.store(vector_slot(b, segment, operand, index), value)


def vector_slot(b: KernelBuilder, segment: RowSegment, operand: int, index: LLVMValue) -> MemoryLocation:
    """The memory of a vector of contiguous elements."""
    vector_type = segment.memory_type(operand)
    return MemoryLocation(b.gep(segment.row.addresses[operand], index, vector_type.llvm_element), vector_type)


def gather(
    b: KernelBuilder, segment: RowSegment, operand: int, index: LLVMValue, step: LLVMValue
) -> LLVMValue:
    """Loads a vector of elements that are `step` apart."""
    if segment.lanes == 1:
        return b.load(vector_slot(b, segment, operand, index * step))
    vector_type, mask = segment.memory_type(operand), active_lanes(b, segment)
    name = f"@llvm.masked.gather.{vector_type.suffix}.v{segment.lanes}p0"
    pointers = f"<{segment.lanes} x ptr>"
    b.declarations[f"declare {vector_type} {name}({pointers}, i32 immarg, {mask.type}, {vector_type})"] = None
    source = f"{pointers} {lane_pointers(b, segment, operand, index, step)}, i32 {alignment(vector_type)}"
    return b.emit(vector_type, f"call {vector_type} {name}({source}, {mask}, {vector_type} zeroinitializer)")


def scatter(
    b: KernelBuilder,
    segment: RowSegment,
    operand: int,
    index: LLVMValue,
    step: LLVMValue,
    value: LLVMValue,
) -> None:
    """Stores a vector to elements that are `step` apart."""
    if segment.lanes == 1:
        b.store(vector_slot(b, segment, operand, index * step), value)
        return
    vector_type, mask = segment.memory_type(operand), active_lanes(b, segment)
    name = f"@llvm.masked.scatter.{vector_type.suffix}.v{segment.lanes}p0"
    pointers = f"<{segment.lanes} x ptr>"
    b.declarations[f"declare void {name}({vector_type}, {pointers}, i32 immarg, {mask.type})"] = None
    target = f"{pointers} {lane_pointers(b, segment, operand, index, step)}, i32 {alignment(vector_type)}"
    b.lines.append(f" call void {name}({value}, {target}, {mask})")


def active_lanes(b: KernelBuilder, segment: RowSegment) -> LLVMValue:
    return b.constant(1, LLVMType("i1", segment.lanes)) if segment.mask is None else segment.mask


def lane_pointers(
    b: KernelBuilder, segment: RowSegment, operand: int, index: LLVMValue, step: LLVMValue
) -> str:
    """The name of a vector with the address of each lane's element."""
    numbers = ", ".join(f"i64 {i}" for i in range(segment.lanes))
    lanes = LLVMValue(b, LLVMType("i64", segment.lanes), f"<{numbers}>")
    offsets = (lanes + b.splat(index, segment.lanes)) * b.splat(step, segment.lanes)
    return b.gep(segment.row.addresses[operand], offsets, segment.memory_type(operand).llvm_element)

"""Body of an elementwise kernel: loads, computes and stores a segment of a row, one or several SIMD vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.compile.codegen.blocks import StackSlot, alignment
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS, from_memory, memory_type, to_memory
from sardonyx._src.compile.codegen.emit_expressions import ExpressionEmitter, LoadLocal
from sardonyx._src.compile.codegen.expressions import Local
from sardonyx._src.compile.kernels.elementwise.variant import ElementwiseVariant
from sardonyx._src.dtypes import DataType


class RowSegmentEmitter:
    """Emits segments of `count` vectors of `lanes` elements.

    addresses: of the row in each tensor, outputs first.  row_strides: of each tensor whose access pattern is "far", else
    None.  broadcast: the loaded inputs whose access pattern is "same", by operand index.  mask: the lanes to load and
    store, for a partial vector.
    """

    def __init__(
        self,
        emitter: ExpressionEmitter,
        variant: ElementwiseVariant,
        addresses: Sequence[str],
        row_strides: Sequence[LLVMValue | None],
        broadcast: Mapping[int, LLVMValue],
        lanes: int,
        count: int,
        mask: LLVMValue | None = None,
    ) -> None:
        self.emitter, self.variant = emitter, variant
        self.addresses, self.row_strides = addresses, row_strides
        self.lanes, self.count, self.mask = lanes, count, mask
        self.broadcast = {i: emitter.splat(value, lanes) for i, value in broadcast.items()}

    def emit_segment(self, first: LLVMValue) -> None:
        """The segment from an index on; all loads come before the stores, since an output may alias an input."""
        num_outputs = len(self.variant.outputs)
        indices = [first + k * self.lanes for k in range(self.count)]
        inputs = [
            [self.load(num_outputs + i, index) for i in range(len(self.variant.inputs))] for index in indices
        ]
        types = [LLVMType(LLVM_ELEMENTS[o.dtype], self.lanes) for o in self.variant.outputs]
        results = self.emitter.emit_interleaved(
            self.variant.values, types, [operand_loader(vectors) for vectors in inputs]
        )
        for index, values in zip(indices, results, strict=True):
            for i, value in enumerate(values):
                self.store(i, index, to_memory(value, self.dtype(i)))

    # --- memory ------------------------------------------------------------------------------

    def dtype(self, operand: int) -> DataType:
        return self.variant.operands[operand].dtype

    def memory_vector_type(self, operand: int) -> LLVMType:
        """A vector of an operand as it is in memory."""
        return LLVMType(memory_type(self.dtype(operand)).element, self.lanes)

    def load(self, operand: int, index: LLVMValue) -> LLVMValue:
        if operand in self.broadcast:
            return self.broadcast[operand]
        if (stride := self.row_strides[operand]) is not None:
            value = self.gather(operand, index, stride)
        elif self.mask is not None:
            value = self.emitter.masked_load(self.mask, self.slot(operand, index))
        else:
            value = self.emitter.load(self.slot(operand, index))
        return from_memory(value, self.dtype(operand))

    def store(self, operand: int, index: LLVMValue, value: LLVMValue) -> None:
        if (stride := self.row_strides[operand]) is not None:
            self.scatter(operand, index, stride, value)
        elif self.mask is not None:
            self.emitter.masked_store(self.mask, self.slot(operand, index), value)
        else:
            self.emitter.store(self.slot(operand, index), value)

    def slot(self, operand: int, index: LLVMValue) -> StackSlot:
        vector_type = self.memory_vector_type(operand)
        return StackSlot(
            self.emitter.gep(self.addresses[operand], index, vector_type.llvm_element), vector_type
        )

    def gather(self, operand: int, index: LLVMValue, stride: LLVMValue) -> LLVMValue:
        """Loads a vector of elements that are `stride` apart."""
        if self.lanes == 1:
            return self.emitter.load(self.slot(operand, index * stride))
        vector_type, mask = self.memory_vector_type(operand), self.active_lanes()
        name = f"@llvm.masked.gather.{vector_type.suffix}.v{self.lanes}p0"
        pointers = f"<{self.lanes} x ptr>"
        declaration = f"declare {vector_type} {name}({pointers}, i32 immarg, {mask.type}, {vector_type})"
        self.emitter.declarations[declaration] = None
        source = f"{pointers} {self.lane_pointers(operand, index, stride)}, i32 {alignment(vector_type)}"
        return self.emitter.emit(
            vector_type, f"call {vector_type} {name}({source}, {mask}, {vector_type} zeroinitializer)"
        )

    def scatter(self, operand: int, index: LLVMValue, stride: LLVMValue, value: LLVMValue) -> None:
        """Stores a vector to elements that are `stride` apart."""
        if self.lanes == 1:
            self.emitter.store(self.slot(operand, index * stride), value)
            return
        vector_type, mask = self.memory_vector_type(operand), self.active_lanes()
        name = f"@llvm.masked.scatter.{vector_type.suffix}.v{self.lanes}p0"
        pointers = f"<{self.lanes} x ptr>"
        declaration = f"declare void {name}({vector_type}, {pointers}, i32 immarg, {mask.type})"
        self.emitter.declarations[declaration] = None
        target = f"{pointers} {self.lane_pointers(operand, index, stride)}, i32 {alignment(vector_type)}"
        self.emitter.lines.append(f" call void {name}({value}, {target}, {mask})")

    def active_lanes(self) -> LLVMValue:
        all_lanes = self.emitter.constant(1, LLVMType("i1", self.lanes))
        return all_lanes if self.mask is None else self.mask

    def lane_pointers(self, operand: int, index: LLVMValue, stride: LLVMValue) -> str:
        """The name of a vector with the address of each lane's element."""
        numbers = ", ".join(f"i64 {i}" for i in range(self.lanes))
        lanes = LLVMValue(self.emitter, LLVMType("i64", self.lanes), f"<{numbers}>")
        offsets = (lanes + self.emitter.splat(index, self.lanes)) * self.emitter.splat(stride, self.lanes)
        return self.emitter.gep(
            self.addresses[operand], offsets, self.memory_vector_type(operand).llvm_element
        )


def operand_loader(inputs: Sequence[LLVMValue]) -> LoadLocal:
    """Resolves the locals `i0`, `i1`, ... of an expression to loaded inputs."""

    def load_local(local: Local) -> LLVMValue:
        assert isinstance(local, Local), f"expected an input of an elementwise kernel, got {local}"
        return inputs[int(local.name[1:])]

    return load_local

"""Integer GEMM microkernel: int8 products accumulated in int32 register tiles, for packed int8x4 operands.

The tile and its loops are those of `MicrokernelEmitter`; k counts i32 words of four int8.  One word of each row of A is
broadcast and multiplied with a vector of words of the panel by four-way dot products (`int8_dot.py`).  Sums wrap around;
the epilogue has operands and a result of any element type.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS, memory_type
from sardonyx._src.compile.codegen.expressions import Local
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.accumulators import CACHE_LINE_FLOATS
from sardonyx._src.compile.kernels.gemm.int8_dot import Int8DotEmitter
from sardonyx._src.compile.kernels.gemm.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.kernels.gemm.microkernel import MicrokernelEmitter
from sardonyx._src.compile.kernels.gemm.output import EpilogueOperand, OutputMatrix

I32 = LLVMType("i32")
SIGN_BITS = -0x7F7F7F80  # the highest bit of each byte of an i32


class Int8MicrokernelEmitter(MicrokernelEmitter):
    """A mixin that replaces the float32 microkernel of a loop nest; its constructor calls `init_int8` last."""

    def init_int8(self, epilogue: Epilogue, target: Target, *, a_is_signed: bool) -> None:
        """Makes the accumulators int32; a_is_signed: A is int8, and 128 is added to its elements to make them uint8."""
        assert isinstance(epilogue, IntegerEpilogue), (
            f"an integer kernel's epilogue must be IntegerEpilogue; got {epilogue}"
        )
        self.integer_epilogue, self.a_is_signed = epilogue, a_is_signed
        self.int8_dot = Int8DotEmitter(self, target)
        self.vector_type = LLVMType("i32", self.tile.lanes)
        self.accumulators = [
            [self.new_slot("total", self.vector_type) for _ in range(self.tile.vectors)]
            for _ in range(self.tile.rows)
        ]

    def rank1_update(
        self, rows: Sequence[str], panel: str, k: LLVMValue, stride: LLVMValue | None, prefetch: str | None
    ) -> None:
        """Adds the dot products of word k of each row of A with row k of words of B."""
        assert stride is None, f"rows of A must be contiguous; got a stride of {stride}"
        if prefetch is not None:
            self.prefetch_l2(prefetch, k * CACHE_LINE_FLOATS)
        base = k * self.tile.width
        slots = [self.vector_slot(panel, base + v * self.tile.lanes) for v in range(self.tile.vectors)]
        right = [self.int8_dot.unpack_b(self.load(slot)) for slot in slots]
        for row, accumulators in zip(rows, self.accumulators, strict=False):
            left = self.int8_dot.unpack_a(self.load_packed_a(row, k))
            for slot, b in zip(accumulators, right, strict=True):
                self.store(slot, self.int8_dot.dot_accumulate(self.load(slot), left, b))

    def load_packed_a(self, row: str, k: LLVMValue) -> LLVMValue:
        """Word k of a row of A, as uint8, in every lane."""
        self._count += 1
        local = f"%v{self._count}"
        self.lines.append(f" {local} = load i32, ptr {self.gep(row, k)}, align 1")
        packed = self.splat(LLVMValue(self, I32, local), self.tile.lanes)
        return packed ^ SIGN_BITS if self.a_is_signed else packed

    # --- store -------------------------------------------------------------------------------

    @property
    def result_type(self) -> LLVMType:
        return LLVMType(LLVM_ELEMENTS[self.integer_epilogue.result_dtype], self.tile.lanes)

    def result_slot(self, output: OutputMatrix, row: LLVMValue, column: LLVMValue) -> StackSlot:
        vector_type = self.result_type
        return StackSlot(
            self.gep(output.address, row * output.row_stride + column, vector_type.llvm_element), vector_type
        )

    def load_epilogue_local(
        self,
        value: LLVMValue,
        row: LLVMValue,
        column: LLVMValue,
        mask: LLVMValue | None,
        output: OutputMatrix,
        local: Local,
    ) -> LLVMValue:
        assert isinstance(local, Local), f"a name in an epilogue must be Local; got {local}"
        if local.name == "x":
            return value
        return self.load_typed_operand(int(local.name[1:]), output, row, column, mask)

    def load_typed_operand(
        self, index: int, output: OutputMatrix, row: LLVMValue, column: LLVMValue, mask: LLVMValue | None
    ) -> LLVMValue:
        """The vector of an operand, of its own type, for the vector of the output at (row, column)."""
        operand: EpilogueOperand = output.operands[index]
        element_type = memory_type(self.integer_epilogue.operand_types[index])
        if operand.layout == "scalar" or index in self.integer_epilogue.row_operands:
            offset = self.constant(0, I64) if operand.row_stride is None else row * operand.row_stride
            address = self.gep(operand.address, offset, element_type.llvm_element)
            return self.splat(self.load(StackSlot(address, element_type)), self.tile.lanes)
        offset = column if operand.row_stride is None else row * operand.row_stride + column
        address = self.gep(operand.address, offset, element_type.llvm_element)
        slot = StackSlot(address, LLVMType(element_type.element, self.tile.lanes))
        return self.load(slot) if mask is None or self.tile.lanes == 1 else self.masked_load(mask, slot)

"""Base of kernels over channels-last images [N, H, W, C], whose SIMD lanes are channels.

A pixel's channels are contiguous, and pixels are a constant number of floats apart, their stride: at least C, more where
the image is a slice of a wider one.  Kernels load and store vectors of `lanes` channels; the remainder of the channels is
one vector with a mask.  An epilogue sees the image as a matrix: its rows are the pixels, its columns the channels.
"""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.expressions import Local
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.output import EpilogueOperand
from sardonyx._src.compile.program.step import KernelArgument
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import Known


class ChannelsLastEmitter(KernelBuilder):
    """Emits loops over channels, vector loads and stores, and the epilogue of a channels-last kernel.

    lanes: floats in a vector.  operands: those of the epilogue, once `load_operands` has loaded their arguments.
    """

    def __init__(self, target: Target, epilogue: Epilogue) -> None:
        super().__init__(target)
        self.lanes = target.lanes
        self.vector_type = LLVMType("float", target.lanes)
        self.epilogue = epilogue
        self.operands: list[EpilogueOperand] = []

    @property
    def zero(self) -> LLVMValue:
        return self.constant(0, I64)

    def load_operands(self, index: int) -> None:
        """Loads the arguments of the epilogue, the first of which has this index; to be called before any loop."""
        for layout in self.epilogue.operand_layouts:
            address = self.pointer_argument(index)
            row_stride = self.size_argument(index + 1) if layout == "matrix" else None
            self.operands.append(EpilogueOperand(layout, address, row_stride))
            index += 2 if layout == "matrix" else 1

    # --- integers ----------------------------------------------------------------------------

    def max(self, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """The greater of two integers."""
        return self.select(a > b, a, b)

    def sdiv(self, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """a / b, rounded towards 0."""
        return self.emit(I64, f"sdiv {a}, {b.name}")

    # --- vectors -----------------------------------------------------------------------------

    def loop_channels(
        self, first: LLVMValue, end: LLVMValue, body: Callable[[LLVMValue, LLVMValue | None], None]
    ) -> None:
        """Runs body(channel, mask) for each vector of channels in [first, end); mask: None for all lanes."""
        remainder = self.loop_call(first, end, self.lanes, lambda channel: body(channel, None), "channel")
        if self.lanes > 1:
            self.if_then_call(remainder < end, lambda: body(remainder, self.channel_mask(end - remainder)))

    def channel_mask(self, count: LLVMValue) -> LLVMValue:
        """The mask of the first `count` lanes: none of them if it is <= 0, all if it is >= lanes."""
        lane_type = LLVMType("i32", self.lanes)
        numbers = ", ".join(f"i32 {i}" for i in range(self.lanes))
        lane = self.constant(0, lane_type) if self.lanes == 1 else LLVMValue(self, lane_type, f"<{numbers}>")
        return lane < self.splat(count.convert("trunc", "i32"), self.lanes)

    def load_vector(
        self, address: str, mask: LLVMValue | None = None, masked_value: float = 0.0
    ) -> LLVMValue:
        """Loads a vector; lanes outside the mask are `masked_value`, and their memory is not accessed."""
        if mask is None:
            return self.load(StackSlot(address, self.vector_type))
        otherwise = self.constant(masked_value, self.vector_type)
        if self.lanes == 1:
            slot = self.new_slot("taken", self.vector_type)
            self.store(slot, otherwise)
            self.if_then_call(mask, lambda: self.store(slot, self.load(StackSlot(address, self.vector_type))))
            return self.load(slot)
        vector_type, name = self.vector_type, f"@llvm.masked.load.{self.vector_type.suffix}.p0"
        self.declarations[f"declare {vector_type} {name}(ptr, i32 immarg, {mask.type}, {vector_type})"] = None
        return self.emit(vector_type, f"call {vector_type} {name}(ptr {address}, i32 4, {mask}, {otherwise})")

    def store_vector(self, value: LLVMValue, address: str, mask: LLVMValue | None = None) -> None:
        """Stores a vector; the memory of lanes outside the mask is not accessed."""
        if mask is None:
            self.store(StackSlot(address, self.vector_type), value)
        elif self.lanes == 1:
            self.if_then_call(mask, lambda: self.store(StackSlot(address, self.vector_type), value))
        else:
            name = f"@llvm.masked.store.{self.vector_type.suffix}.p0"
            self.declarations[f"declare void {name}({self.vector_type}, ptr, i32 immarg, {mask.type})"] = None
            self.lines.append(f" call void {name}({value}, ptr {address}, i32 4, {mask})")

    def load_splat(self, address: str) -> LLVMValue:
        """Loads a float into every lane."""
        return self.splat(self.load(StackSlot(address, LLVMType("float"))), self.lanes)

    def nan_propagating_max(self, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """max(a, b) of floats; NaN if either is NaN."""
        return self.select(a.ne(a), a, self.select(a > b, a, b))

    # --- epilogue ----------------------------------------------------------------------------

    def apply_epilogue(
        self, value: LLVMValue, pixel: LLVMValue, channel: LLVMValue, mask: LLVMValue | None
    ) -> LLVMValue:
        """The epilogue of a vector of results, those of one pixel from `channel` on."""

        def load_local(name: Local) -> LLVMValue:
            assert isinstance(name, Local), f"an epilogue must read locals; got {name}"
            if name.name == "x":
                return value
            operand = self.operands[int(name.name.removeprefix("o"))]
            if operand.layout == "scalar":
                return self.load_splat(operand.address)
            offset = channel if operand.row_stride is None else pixel * operand.row_stride + channel
            return self.load_vector(self.gep(operand.address, offset), mask)

        return self.emit_expression(self.epilogue.expression, self.vector_type, load_local)


def pixel_stride(image: TensorView) -> Known:
    """The distance between neighbouring pixels of an image [N, H, W, C], in elements."""
    stride = image.row_stride
    assert stride is not None, f"pixels must have one stride and contiguous channels; got {image}"
    return stride


def tensor_arguments(args: tuple[KernelArgument, ...]) -> tuple[TensorView, ...]:
    """The tensors among kernel arguments: of an epilogue's, those that the step reads."""
    return tuple(arg for arg in args if isinstance(arg, TensorView))

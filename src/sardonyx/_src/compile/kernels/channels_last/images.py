"""Images in channels-last kernels, [N, H, W, C]: SIMD lanes are channels.

A pixel's channels are contiguous, and pixels are a constant number of elements apart, their stride: at least C, more where
the image is a slice of a wider one.  Kernels load and store vectors of `b.target.lanes` channels; the remainder of the
channels is one vector with a mask.  An epilogue sees the image as a matrix: its rows are the pixels, its columns the
channels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.masked_lanes import masked_load_or
from sardonyx._src.compile.kernels.epilogue import (
    Epilogue,
    EpilogueOperand,
    emit_epilogue,
    load_operands,
    operand_offset,
)
from sardonyx._src.compile.kernels.gemm.vectors import load_splat, vector_type
from sardonyx._src.compile.program.step import KernelArgument
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class OutputImage:
    """The image that a kernel writes: its address, pixel stride and LLVM element type, and the epilogue of its results."""

    address: str
    pixel_stride: LLVMValue
    epilogue: Epilogue
    operands: tuple[EpilogueOperand, ...]
    element: str = "float"


def pixel_stride(image: TensorView) -> Known:
    """The distance between neighbouring pixels of an image [N, H, W, C], in elements."""
    stride = image.row_stride
    assert stride is not None, f"pixels must have one stride and contiguous channels; got {image}"
    return stride


def load_output(
    b: KernelBuilder, address: str, pixel_stride: LLVMValue, epilogue: Epilogue, element: str = "float"
) -> OutputImage:
    """An output image with the operands of its epilogue, which are loaded; to be called before any loop."""
    return OutputImage(address, pixel_stride, epilogue, load_operands(b, epilogue), element)


def image_arguments(x: TensorView, y: TensorView) -> dict[str, KernelArgument]:
    """The arguments by name for an image that a kernel reads and one that it writes."""
    return {"x": x, "y": y, "x_pixel_stride": pixel_stride(x), "y_pixel_stride": pixel_stride(y)}


# --- vectors of channels ---------------------------------------------------------------------


def loop_channels(
    b: KernelBuilder, first: LLVMValue, end: LLVMValue
) -> Iterator[tuple[LLVMValue, LLVMValue | None]]:
    """A loop over the vectors of channels in [first, end): `for channel, mask in loop_channels(b, first, end):`.

    The body is emitted for whole vectors, whose mask is None, and for the remainder.
    """
    with b.loop(first, end, b.target.lanes, "channel") as channel:
        yield channel, None
    if b.target.lanes > 1:
        with b.if_then(channel < end):
            yield channel, channel_mask(b, end - channel)


def channel_mask(b: KernelBuilder, count: LLVMValue) -> LLVMValue:
    """The mask of the first `count` lanes: none of them if it is <= 0, all if it is >= lanes."""
    lane_type = LLVMType("i32", b.target.lanes)
    numbers = ", ".join(f"i32 {i}" for i in range(lane_type.lanes))
    lane = b.constant(0, lane_type) if lane_type.lanes == 1 else LLVMValue(b, lane_type, f"<{numbers}>")
    return lane < b.splat(count.convert("trunc", "i32"), lane_type.lanes)


def load_vector(
    b: KernelBuilder,
    address: str,
    mask: LLVMValue | None = None,
    masked_value: float = 0.0,
    element: Element = "float",
) -> LLVMValue:
    """Loads a vector; lanes outside the mask are `masked_value`, and their memory is not accessed."""
    memory = StackSlot(address, LLVMType(element, b.target.lanes))
    if mask is None:
        return b.load(memory)
    otherwise = b.constant(masked_value, memory.type)
    if b.target.lanes > 1:
        return masked_load_or(b, address, mask, otherwise)
    return load_if(b, mask, memory, otherwise)


def load_if(b: KernelBuilder, condition: LLVMValue, memory: StackSlot, otherwise: LLVMValue) -> LLVMValue:
    """Loads a scalar if a condition holds; else the memory is not accessed, and the result is `otherwise`."""
    slot = b.new_slot("taken", memory.type)
    b.store(slot, otherwise)
    with b.if_then(condition):
        b.store(slot, b.load(memory))
    return b.load(slot)


def store_vector(b: KernelBuilder, value: LLVMValue, address: str, mask: LLVMValue | None = None) -> None:
    """Stores a vector of any element type; the memory of lanes outside the mask is not accessed."""
    memory = StackSlot(address, value.type)
    if mask is None:
        b.store(memory, value)
    elif b.target.lanes > 1:
        b.masked_store(mask, memory, value)
    else:
        with b.if_then(mask):
            b.store(memory, value)


def nan_propagating_max(b: KernelBuilder, x: LLVMValue, y: LLVMValue) -> LLVMValue:
    """max(x, y) of floats; NaN if either is NaN."""
    return b.select(x.ne(x), x, b.select(x > y, x, y))


def sdiv(b: KernelBuilder, dividend: LLVMValue, divisor: LLVMValue) -> LLVMValue:
    """dividend / divisor of integers, rounded towards 0."""
    return b.emit(I64, f"sdiv {dividend}, {divisor.name}")


# --- results ---------------------------------------------------------------------------------


def apply_epilogue(
    b: KernelBuilder,
    y: OutputImage,
    value: LLVMValue,
    pixel: LLVMValue,
    channel: LLVMValue,
    mask: LLVMValue | None,
) -> LLVMValue:
    """The epilogue of a vector of float results, those of one pixel from `channel` on."""

    def load_operand(i: int) -> LLVMValue:
        operand = y.operands[i]
        if operand.layout == "scalar":
            return load_splat(b, operand.address)
        return load_vector(b, b.gep(operand.address, operand_offset(operand, pixel, channel)), mask)

    return emit_epilogue(b, y.epilogue, vector_type(b), value, load_operand)


def pixel_address(b: KernelBuilder, y: OutputImage, pixel: LLVMValue, channel: LLVMValue) -> str:
    return b.gep(y.address, pixel * y.pixel_stride + channel, y.element)


def store_result(
    b: KernelBuilder,
    y: OutputImage,
    value: LLVMValue,
    pixel: LLVMValue,
    channel: LLVMValue,
    mask: LLVMValue | None,
) -> None:
    """Applies the epilogue to a vector of float results and stores it."""
    value = apply_epilogue(b, y, value, pixel, channel, mask)
    store_vector(b, value, pixel_address(b, y, pixel, channel), mask)

"""Images in channels-last kernels, [N, H, W, C]: SIMD lanes are channels.

A pixel's channels are contiguous, and pixels are a constant number of elements apart.  This pixel stride is C, or more if
the image is a slice of one with more channels.  Kernels load and store vectors of `b.target.lanes` channels; the remaining
channels are one vector with a mask.  For an epilogue the image is a matrix: pixels are rows, channels are columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from sardonyx._src.compile.codegen import LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import (
    Epilogue,
    EpilogueOperand,
    emit_epilogue,
    epilogue_loader,
    load_operands,
    operand_offset,
)
from sardonyx._src.compile.kernels.loops.vectors import load_splat, load_vector, store_vector, vector_type
from sardonyx._src.compile.program import KernelArgument, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class OutputImage:
    """The image that a kernel writes: its address, pixel stride and LLVM element type, with the epilogue and its operands."""

    address: str
    pixel_stride: LLVMValue
    epilogue: Epilogue
    operands: tuple[EpilogueOperand, ...]
    element: str = "float"


@dataclass(frozen=True, slots=True)
class PixelResult:
    """A vector of the results of a pixel; mask: the lanes to store, None for all."""

    value: LLVMValue
    pixel: LLVMValue
    mask: LLVMValue | None


def pixel_stride(image: TensorView) -> Known:
    """The distance between neighboring pixels of an image [N, H, W, C], in elements."""
    stride = image.row_stride
    assert stride is not None, f"pixels must have one stride and contiguous channels; got {image}"
    return stride


def load_output(
    b: KernelBuilder, address: str, pixel_stride: LLVMValue, epilogue: Epilogue, element: str = "float"
) -> OutputImage:
    """An output image; loads the arguments of the epilogue's operands, and therefore is to be called before any loop."""
    return OutputImage(address, pixel_stride, epilogue, load_operands(b, epilogue), element)


def image_arguments(x: TensorView, y: TensorView) -> dict[str, KernelArgument]:
    """The arguments by name for an image that a kernel reads and one that it writes."""
    return {"x": x, "y": y, "x_pixel_stride": pixel_stride(x), "y_pixel_stride": pixel_stride(y)}


def nan_propagating_max(b: KernelBuilder, x: LLVMValue, y: LLVMValue) -> LLVMValue:
    """max(x, y) of floats; NaN if either is NaN."""
    return b.select(x.ne(x), x, b.select(x > y, x, y))


# --- results ---------------------------------------------------------------------------------


def apply_epilogue(
    b: KernelBuilder,
    y: OutputImage,
    value: LLVMValue,
    pixel: LLVMValue,
    channel: LLVMValue,
    mask: LLVMValue | None,
) -> LLVMValue:
    """Applies the epilogue to a vector of float results: those of one pixel, from `channel` on."""
    load = partial(load_operand, b, y, pixel, channel, mask)
    return emit_epilogue(b, y.epilogue, vector_type(b), value, load)


def apply_epilogues(
    b: KernelBuilder, y: OutputImage, results: Sequence[PixelResult], channel: LLVMValue
) -> Iterator[LLVMValue]:
    """Applies the epilogue to float results of several pixels, from `channel` on; calls of functions are joined."""
    if not y.epilogue.joins_calls:
        yield from (apply_epilogue(b, y, r.value, r.pixel, channel, r.mask) for r in results)
        return
    loads = [epilogue_loader(r.value, partial(load_operand, b, y, r.pixel, channel, r.mask)) for r in results]
    for (value,) in b.emit_interleaved([y.epilogue.expression], [vector_type(b)], loads):
        yield value


def load_operand(
    b: KernelBuilder, y: OutputImage, pixel: LLVMValue, channel: LLVMValue, mask: LLVMValue | None, i: int
) -> LLVMValue:
    """The vector of operand i of the epilogue for the results of a pixel from `channel` on."""
    operand = y.operands[i]
    if operand.layout == "scalar":
        return load_splat(b, operand.address)
    return load_vector(b, b.gep(operand.address, operand_offset(operand, pixel, channel)), mask)


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

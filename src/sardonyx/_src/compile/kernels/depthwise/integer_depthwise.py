"""Depthwise convolution of channels-last int8 and uint8 images with int32 accumulators.

The loops are those of the float kernel (`depthwise.py`).  Input vectors are loaded as bytes and extended to int32; weights
[kh * kw, C] are stored as int32.  `pmaddwd` adds two products of 16 bits in each lane.  On targets that have it, it replaces
the slower 32-bit multiplication: the upper 16 bits of each weight are 0, so that the second product is 0.  With AVX512-VNNI
one instruction multiplies and adds to the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen import (
    Element,
    FunctionBuilder,
    LLVMType,
    LLVMValue,
    MemoryLocation,
    Target,
)
from sardonyx._src.compile.codegen.element_types import memory_type
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.images import OutputImage, PixelResult, load_output
from sardonyx._src.compile.kernels.channels_last.sliding_window import (
    WindowTile,
    choose_window_tile,
    count_window_units,
    sliding_window_arguments,
)
from sardonyx._src.compile.kernels.channels_last.sliding_window_loops import load_window
from sardonyx._src.compile.kernels.depthwise.depthwise import (
    DepthwiseArithmetic,
    depthwise_parameters,
    emit_depthwise,
    make_depthwise,
    pack_depthwise_weights,
)
from sardonyx._src.compile.kernels.epilogue import (
    emit_epilogue,
    epilogue_arguments,
    epilogue_loader,
    operand_offset,
)
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import Int8DotEmitter
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import (
    IntegerEpilogue,
    operand_type,
    result_type,
)
from sardonyx._src.compile.kernels.gemm.tile.quantized_rows import (
    QuantizedResult,
    match_quantized_result,
    pack_quantized,
    packed_rows,
    saturate_vector,
    split_packed,
)
from sardonyx._src.compile.kernels.loops.vectors import load_if, load_window_vector
from sardonyx._src.compile.program import Kernel, Step, TensorView, Window
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array


def pack_int8_depthwise_weights(weights: Array, target: Target) -> Array:
    """Weights [C, 1, kh, kw] int8 as [kh * kw, C] int32, sign-extended; for `pmaddwd` to 16 bits, and the upper 16 bits are 0."""
    int16: Array = pack_depthwise_weights(weights).astype(np.int16)
    return int16.view(np.uint16).astype(np.int32) if has_pmaddwd(target) else int16.astype(np.int32)


def has_pmaddwd(target: Target) -> bool:
    return Int8DotEmitter(FunctionBuilder(has_fma=False), target).has_pmaddwd


def integer_depthwise_step(
    x: TensorView,
    zero_point: TensorView | None,
    weights: TensorView,
    initial: TensorView,
    y: TensorView,
    window: Window,
    epilogue: IntegerEpilogue,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """The convolution of x - zero_point, x [N, H, W, C] int8 or uint8, with weights from `pack_int8_depthwise_weights`.

    zero_point: one element of the type of x; None for 0.
    initial: the accumulators' initial values, [C] int32.
    """
    tile = choose_window_tile(window, y.shape[2])
    constants = {"weights": weights, "bias": initial}
    if zero_point is not None:
        constants["zero_point"] = zero_point
    parameters = depthwise_parameters(epilogue, *constants)
    has_zero_point = zero_point is not None
    source = partial(
        integer_depthwise_module,
        epilogue=epilogue,
        tile=tile,
        byte="i8" if x.dtype is DataType.INT8 else "u8",
        has_zero_point=has_zero_point,
    )
    key = f"depthwise_{x.dtype.text}:{tile.key}:{has_zero_point}:{epilogue.key}"
    return Step(
        kernel=Kernel(key, source, parameters),
        args=parameters.pack(
            **sliding_window_arguments(x, y, window), **constants, **epilogue_arguments(epilogue, operands)
        ),
        units=count_window_units(x, y, window),
        reads=(x, *constants.values(), *operands),
        writes=(y,),
        flops=y.num_elements * (2 * window.num_taps),
        bytes_accessed=x.nbytes + y.nbytes,
    )


def integer_depthwise_module(
    name: str,
    target: Target,
    epilogue: IntegerEpilogue,
    tile: WindowTile,
    *,
    byte: Element,
    has_zero_point: bool,
) -> str:
    """The LLVM module of a convolution of bytes, i8 or u8."""
    constants = ("weights", "bias", "zero_point") if has_zero_point else ("weights", "bias")
    b = KernelBuilder(target, depthwise_parameters(epilogue, *constants))
    window = load_window(b, tile, x_element="i8")
    weights, bias = b.pointers("weights", "bias")
    zero_point = load_zero_point(b, byte) if has_zero_point else None
    y_element = memory_type(epilogue.result_dtype).llvm_element
    y = load_output(b, window.y, window.y_pixel_stride, epilogue, y_element)
    arithmetic = DepthwiseArithmetic(
        LLVMType("i32", target.lanes),
        partial(load_input, b, byte, zero_point),
        partial(multiply_add, Int8DotEmitter(b, target)),
        partial(apply_integer_epilogues, b),
    )
    emit_depthwise(make_depthwise(b, window, weights, bias, y, arithmetic))
    return b.build_module(name)


# --- input -----------------------------------------------------------------------------------


def load_zero_point(b: KernelBuilder, byte: Element) -> LLVMValue:
    """The zero point in every lane."""
    return b.splat(b.load(MemoryLocation(b.pointer("zero_point"), LLVMType(byte))), b.target.lanes)


def load_input(
    b: KernelBuilder, byte: Element, zero_point: LLVMValue | None, address: str, mask: LLVMValue | None
) -> LLVMValue:
    """Loads a vector of bytes minus their zero point as int32; lanes outside the mask are 0."""
    x = extend(load_bytes(b, MemoryLocation(address, LLVMType(byte, b.target.lanes)), zero_point, mask))
    return x if zero_point is None else x - extend(zero_point)


def load_bytes(
    b: KernelBuilder, memory: MemoryLocation, zero_point: LLVMValue | None, mask: LLVMValue | None
) -> LLVMValue:
    """Loads a vector of bytes; lanes outside the mask are the zero point."""
    if mask is None:
        return b.load(memory)
    zero = b.constant(0, memory.type) if zero_point is None else zero_point
    return load_window_vector(b, memory, mask, zero)


def extend(value: LLVMValue) -> LLVMValue:
    """Bytes sign- or zero-extended to int32."""
    return value.convert("zext" if value.type.is_unsigned else "sext", "i32")


def multiply_add(dot: Int8DotEmitter, total: LLVMValue, x: LLVMValue, weight: LLVMValue) -> LLVMValue:
    if dot.has_vnni and dot.has_pmaddwd:
        return dot.emit_vpdpwssd(total, x, weight)
    return total + (dot.emit_pmaddwd(x, weight) if dot.has_pmaddwd else x * weight)


# --- output ----------------------------------------------------------------------------------


def apply_integer_epilogues(
    b: KernelBuilder, y: OutputImage, totals: Sequence[PixelResult], channel: LLVMValue
) -> Iterator[LLVMValue]:
    """The epilogues of vectors of sums, one after the other; or of as many as are packed to bytes together."""
    quantized = match_quantized_result(y.epilogue, b.target)
    if quantized is not None and quantized.is_bounded:
        count = max(1, packed_rows(1, b.target))
        for first in range(0, len(totals), count):
            yield from emit_quantized(b, y, quantized, totals[first : first + count], channel)
        return
    vector_type = LLVMType(result_type(y.epilogue).element, b.target.lanes)
    for total in totals:
        yield emit_epilogue(
            b, y.epilogue, vector_type, total.value, partial(load_operand, b, y, total, channel)
        )


def emit_quantized(
    b: KernelBuilder,
    y: OutputImage,
    quantized: QuantizedResult,
    totals: Sequence[PixelResult],
    channel: LLVMValue,
) -> list[LLVMValue]:
    """The quantized results of vectors of sums, as bytes; the quotients are bounded."""
    loads = [epilogue_loader(total.value, partial(load_operand, b, y, total, channel)) for total in totals]
    vector = LLVMType(quantized.element, b.target.lanes)
    quotients = [quotient for (quotient,) in b.emit_interleaved([quantized.quotient], [vector], loads)]
    zero_point = None
    if quantized.zero_point is not None:
        address = y.operands[quantized.zero_point].address
        zero_point = b.load(MemoryLocation(address, operand_type(y.epilogue, quantized.zero_point)))
    if len(quotients) == 1:
        return [saturate_vector(b, quantized, quotients[0], zero_point)]
    return split_packed(b, pack_quantized(b, quantized, quotients, zero_point), len(quotients))


def load_operand(
    b: KernelBuilder, y: OutputImage, total: PixelResult, channel: LLVMValue, i: int
) -> LLVMValue:
    """The vector of operand i of the epilogue for a vector of sums."""
    operand, element_type = y.operands[i], operand_type(y.epilogue, i)
    if operand.layout == "scalar":
        return b.splat(b.load(MemoryLocation(operand.address, element_type)), b.target.lanes)
    offset = operand_offset(operand, total.pixel, channel)
    address = b.gep(operand.address, offset, element_type.llvm_element)
    memory = MemoryLocation(address, LLVMType(element_type.element, b.target.lanes))
    return load_operand_vector(b, memory, total.mask)


def load_operand_vector(b: KernelBuilder, memory: MemoryLocation, mask: LLVMValue | None) -> LLVMValue:
    if mask is None:
        return b.load(memory)
    if b.target.lanes > 1:
        return b.masked_load(mask, memory)
    return load_if(b, mask, memory, b.constant(0, memory.type))

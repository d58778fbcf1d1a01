"""Depthwise convolution of channels-last int8 and uint8 images with int32 accumulators.

The loops are those of the float kernel.  Input vectors are loaded as bytes and extended to int32; weights are int32 already,
[kh * kw, C].  On targets with `pmaddwd`, which adds two products of 16 bits in each lane, it replaces the slower 32-bit
multiplication: the upper 16 bits of each weight are 0, so that the second product vanishes.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import Element, FunctionBuilder, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS, memory_type
from sardonyx._src.compile.codegen.expressions import Local
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.channels_last.channels_last_emitter import tensor_arguments
from sardonyx._src.compile.kernels.channels_last.sliding_window import (
    SlidingWindow,
    WindowTile,
    choose_window_tile,
    count_window_units,
    sliding_window_arguments,
)
from sardonyx._src.compile.kernels.depthwise.depthwise import DepthwiseEmitter, pack_depthwise_weights
from sardonyx._src.compile.kernels.epilogue import operand_arguments
from sardonyx._src.compile.kernels.gemm.int8_dot import Int8DotEmitter
from sardonyx._src.compile.kernels.gemm.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array


def pack_int8_depthwise_weights(weights: Array, target: Target) -> Array:
    """Weights [C, 1, kh, kw] int8 as [kh * kw, C] int32: sign-extended, or for `pmaddwd` to 16 bits with zeros above."""
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
    window: SlidingWindow,
    epilogue: IntegerEpilogue,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """The convolution of x - zero_point, x: [N, H, W, C] int8 or uint8, with weights by `pack_int8_depthwise_weights`.

    zero_point: one element of the type of x; None for 0.  initial: the accumulators' initial values, [C] int32.
    """
    tile = choose_window_tile(window, y.shape[2])
    epilogue_arguments = operand_arguments(epilogue, operands)
    is_signed, has_zero_point = x.dtype is DataType.INT8, zero_point is not None
    constants = (weights, initial) if zero_point is None else (weights, initial, zero_point)

    def source(name: str, target: Target) -> str:
        emitter = IntegerDepthwiseEmitter(
            target, epilogue, tile, is_signed=is_signed, has_zero_point=has_zero_point
        )
        return emitter.build_module(name)

    return Step(
        kernel=Kernel(f"depthwise_{x.dtype.text}:{tile.key}:{has_zero_point}:{epilogue.key}", source),
        args=(*sliding_window_arguments(x, y, window), *constants, *epilogue_arguments),
        units=count_window_units(x, y, window),
        reads=(x, *constants, *tensor_arguments(epilogue_arguments)),
        writes=(y,),
        flops=y.num_elements * (2 * window.num_taps),
        bytes_accessed=x.nbytes + y.nbytes,
    )


class IntegerDepthwiseEmitter(DepthwiseEmitter):
    """Emits a depthwise convolution of bytes.

    args: those of every sliding-window kernel, weights, initial values, the zero point if there is one, the epilogue's.
    element_types: for pointers to x and y, the LLVM type of their elements; `gep` propagates it.  Others have 4 bytes.
    """

    def __init__(
        self,
        target: Target,
        epilogue: IntegerEpilogue,
        tile: WindowTile,
        *,
        is_signed: bool,
        has_zero_point: bool,
    ) -> None:
        self.integer_epilogue, self.has_zero_point = epilogue, has_zero_point
        self.byte: Element = "i8" if is_signed else "u8"
        self.target = target
        self.element_types: dict[str, str] = {}
        super().__init__(target, epilogue, tile, has_bias=True)

    def load_arguments(self, index: int) -> None:
        self.int8_dot = Int8DotEmitter(self, self.target)
        self.vector_type = LLVMType("i32", self.lanes)
        self.weights, self.bias = self.pointer_argument(index), self.pointer_argument(index + 1)
        output_type = memory_type(self.integer_epilogue.result_dtype)
        self.element_types |= {self.x: "i8", self.y: output_type.llvm_element}
        zero = self.constant(0, LLVMType(self.byte))
        if self.has_zero_point:
            zero = self.load(StackSlot(self.pointer_argument(index + 2), zero.type))
        self.zero_point = (
            self.splat(zero, self.lanes) if self.has_zero_point else self.constant(0, self.byte_vector_type)
        )
        self.load_operands(index + (3 if self.has_zero_point else 2))

    @property
    def byte_vector_type(self) -> LLVMType:
        return LLVMType(self.byte, self.lanes)

    def gep(self, base: str, index: LLVMValue, element: str = "") -> str:
        """The pointer to base[index]; elements have the type given, or that of `base` in `element_types`, or 4 bytes."""
        base_element = self.element_types.get(base, "")
        name = super().gep(base, index, element or base_element or "float")
        if base_element and not element:
            self.element_types[name] = base_element
        return name

    # --- input -------------------------------------------------------------------------------

    def load_vector(
        self, address: str, mask: LLVMValue | None = None, masked_value: float = 0.0
    ) -> LLVMValue:
        """Loads a vector of int32, or of the image's bytes minus their zero point; lanes outside the mask are 0."""
        if self.element_types.get(address) != "i8":
            return super().load_vector(address, mask, masked_value)
        x = self.extend(self.load_bytes(StackSlot(address, self.byte_vector_type), mask))
        return x - self.extend(self.zero_point) if self.has_zero_point else x

    def load_bytes(self, slot: StackSlot, mask: LLVMValue | None) -> LLVMValue:
        """Loads a vector of bytes; lanes outside the mask are the zero point."""
        if mask is None:
            return self.load(slot)
        if self.lanes == 1:
            byte = self.new_slot("taken", slot.type)
            self.store(byte, self.zero_point)
            self.if_then_call(mask, lambda: self.store(byte, self.load(slot)))
            return self.load(byte)
        loaded = self.masked_load(mask, slot)
        return self.select(mask, loaded, self.zero_point) if self.has_zero_point else loaded

    def extend(self, value: LLVMValue) -> LLVMValue:
        """Bytes sign- or zero-extended to int32."""
        return value.convert("zext" if value.type.is_unsigned else "sext", "i32")

    def initial_value(self, channel: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
        return super().load_vector(self.gep(self.bias, channel), mask)

    def accumulate(self, total: LLVMValue, x: LLVMValue, tap: int | LLVMValue) -> LLVMValue:
        weight = self.tap_weights[tap] if isinstance(tap, int) else self.load_weight(tap)
        return total + (self.int8_dot.emit_pmaddwd(x, weight) if self.int8_dot.has_pmaddwd else x * weight)

    # --- output ------------------------------------------------------------------------------

    def apply_epilogue(
        self, value: LLVMValue, pixel: LLVMValue, channel: LLVMValue, mask: LLVMValue | None
    ) -> LLVMValue:
        def load_local(name: Local) -> LLVMValue:
            assert isinstance(name, Local), f"an epilogue must read locals; got {name}"
            if name.name == "x":
                return value
            return self.load_typed_operand(int(name.name[1:]), pixel, channel, mask)

        result_type = LLVMType(LLVM_ELEMENTS[self.integer_epilogue.result_dtype], self.lanes)
        return self.emit_expression(self.epilogue.expression, result_type, load_local)

    def load_typed_operand(
        self, index: int, pixel: LLVMValue, channel: LLVMValue, mask: LLVMValue | None
    ) -> LLVMValue:
        """A vector of an epilogue operand in its own element type."""
        operand = self.operands[index]
        element_type = memory_type(self.integer_epilogue.operand_types[index])
        if operand.layout == "scalar":
            return self.splat(self.load(StackSlot(operand.address, element_type)), self.lanes)
        offset = channel if operand.row_stride is None else pixel * operand.row_stride + channel
        address = self.gep(operand.address, offset, element_type.llvm_element)
        source = StackSlot(address, LLVMType(element_type.element, self.lanes))
        if mask is None:
            return self.load(source)
        if self.lanes > 1:
            return self.masked_load(mask, source)
        slot = self.new_slot("operand", source.type)
        self.store(slot, self.constant(0, source.type))
        self.if_then_call(mask, lambda: self.store(slot, self.load(source)))
        return self.load(slot)

    def store_vector(self, value: LLVMValue, address: str, mask: LLVMValue | None = None) -> None:
        """Stores a vector of the epilogue's result type."""
        slot = StackSlot(address, value.type)
        if mask is None:
            self.store(slot, value)
        elif self.lanes == 1:
            self.if_then_call(mask, lambda: self.store(slot, value))
        else:
            self.masked_store(mask, slot, value)

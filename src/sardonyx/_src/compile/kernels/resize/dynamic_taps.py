"""Tap tables of Resize computed at run time, for axes of dynamic size.

A tap is an input element and its weight in an output element.  The kernel fills the tables of one axis, indices int64
[out, taps] and weights float32 [out, taps], from which `table_resize_step` resizes; the arithmetic is that of the reference
implementation, so that both engines choose the same taps.  Supports nearest and linear interpolation: 1 tap, or 2.
A unit of work is TABLE_UNIT_ELEMENTS output elements.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Literal

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import Known, ceil_div

DynamicCoordinates = Literal["asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"]
DYNAMIC_COORDINATES: tuple[DynamicCoordinates, ...] = (
    "asymmetric",
    "half_pixel",
    "pytorch_half_pixel",
    "align_corners",
)
NEAREST_MODES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
COORDINATE_TYPE = LLVMType("double")
TABLE_UNIT_ELEMENTS = 256


@dataclass(frozen=True, slots=True)
class DynamicAxis:
    """An axis of `size` elements that is resized to `out`; scale: the node's, None if the node gives sizes."""

    size: Known
    out: Known
    scale: float | None


@dataclass(frozen=True, slots=True)
class TapTableVariant:
    """What a tap table kernel is specialized on.

    coordinates: the coordinate_transformation_mode.  nearest_mode: the rounding of nearest interpolation, "" for linear.
    has_scale: whether coordinates are computed with the node's float32 scale, not with the ratio of the sizes.
    """

    coordinates: DynamicCoordinates
    nearest_mode: str
    has_scale: bool

    @property
    def key(self) -> str:
        return f"taps_{self.coordinates}_{self.nearest_mode or 'linear'}{'_scaled' * self.has_scale}"


def tap_table_step(
    axis: DynamicAxis,
    coordinates: DynamicCoordinates,
    nearest_mode: str,
    indices: TensorView,
    weights: TensorView | None,
) -> Step:
    """Fills the tables of an axis with size > 0.

    indices: int64 [out, taps], weights: float32 [out, taps], both dense; nearest interpolation has 1 tap and no weights,
    linear interpolation (nearest_mode "") has 2 taps.
    """
    variant = TapTableVariant(coordinates, nearest_mode, axis.scale is not None)
    kernel = Kernel(variant.key, lambda name, target: TapTableEmitter(target, variant).build_module(name))
    scale_bits: int = struct.unpack("<i", struct.pack("<f", axis.scale or 1.0))[0]
    tables = (indices,) if weights is None else (indices, weights)
    args = (*tables, axis.size, axis.out, scale_bits)
    return Step(kernel, args, ceil_div(axis.out, TABLE_UNIT_ELEMENTS), (), tables, flops=axis.out * 30)


class TapTableEmitter(KernelBuilder):
    """Emits the computation of a tap table; args: indices, weights if linear, size, out, the bits of the float32 scale."""

    def __init__(self, target: Target, variant: TapTableVariant) -> None:
        super().__init__(target)
        self.variant = variant
        num_tables = 1 if variant.nearest_mode else 2
        self.tables = [self.pointer_argument(i) for i in range(num_tables)]
        self.size, self.out, scale_bits = (self.size_argument(num_tables + i) for i in range(3))
        self.scale = scale_bits.convert("trunc", "i32").bitcast()
        self.interpolates = self.constant(0, I64) if variant.nearest_mode else self.emit_interpolates()
        self.loop_call(self.first_unit, self.end_unit, 1, self.emit_unit, "unit")

    def emit_interpolates(self) -> LLVMValue:
        """Whether any output element has a second tap of nonzero weight: an i64, 0 or 1."""
        result = self.new_slot("mixes", I64)
        self.store(result, self.constant(0, I64))

        def check_element(i: LLVMValue) -> None:
            position = self.input_position(i)
            second = self.call_intrinsic("floor", position) + 1.0
            has_weight = self.linear_weight(position, second).ne(0)
            self.store(result, self.load(result) | has_weight.convert("zext", "i64"))

        self.loop_call(self.constant(0, I64), self.out, 1, check_element, "look")
        return self.load(result)

    def emit_unit(self, unit: LLVMValue) -> None:
        first = unit * TABLE_UNIT_ELEMENTS
        end = self.select(first + TABLE_UNIT_ELEMENTS < self.out, first + TABLE_UNIT_ELEMENTS, self.out)
        self.loop_call(first, end, 1, self.emit_element, "out")

    def emit_element(self, i: LLVMValue) -> None:
        """The taps of an output element."""
        position = self.input_position(i)
        if self.variant.nearest_mode:
            slot = StackSlot(self.gep(self.tables[0], i, "i64"), I64)
            self.store(slot, self.nearest_index(position))
        else:
            self.store_linear_taps(i, position)

    def store_linear_taps(self, i: LLVMValue, position: LLVMValue) -> None:
        """Stores both taps of linear interpolation.

        On an axis without interpolation, both taps are the first one with weight 0.5: weight 0 of an infinite element
        would make NaN.
        """
        low = self.call_intrinsic("floor", position)
        weights = [self.linear_weight(position, low), self.linear_weight(position, low + 1.0)]
        is_single_tap = self.interpolates.eq(0)
        half = self.constant(0.5, weights[0].type)
        index = low.convert("fptosi", "i64")
        indices = [
            self.clamp_index(index),
            self.select(is_single_tap, self.clamp_index(index), self.clamp_index(index + 1)),
        ]
        for tap, (tap_index, tap_weight) in enumerate(zip(indices, weights, strict=True)):
            self.store(StackSlot(self.gep(self.tables[0], i * 2 + tap, "i64"), I64), tap_index)
            weight = self.select(is_single_tap, half, tap_weight)
            self.store(StackSlot(self.gep(self.tables[1], i * 2 + tap), LLVMType("float")), weight)

    # --- positions ---------------------------------------------------------------------------

    def input_position(self, i: LLVMValue) -> LLVMValue:
        """The position of an output element on the input axis, a double."""
        index = self.as_double(i)
        match self.variant.coordinates:
            case "asymmetric":
                return self.divide_by_scale(index)
            case "half_pixel":
                return self.divide_by_scale(index + 0.5) - 0.5
            case "pytorch_half_pixel":
                origin = self.constant(0.0, COORDINATE_TYPE)
                return self.select(self.out > 1, self.divide_by_scale(index + 0.5) - 0.5, origin)
            case "align_corners":
                steps = index * (self.as_double(self.size) - 1.0)
                return self.select(self.out > 1, steps / (self.unrounded_out() - 1.0), steps)

    def unrounded_out(self) -> LLVMValue:
        """The size of the output before it was rounded to an integer."""
        if not self.variant.has_scale:
            return self.as_double(self.out)
        return self.scale.convert("fpext", "double") * self.as_double(self.size)

    def divide_by_scale(self, position: LLVMValue) -> LLVMValue:
        """position / scale: in float32 if the scale is one, else in float64."""
        if self.variant.has_scale:
            return (position.convert("fptrunc", "float") / self.scale).convert("fpext", "double")
        return position * self.as_double(self.size) / self.as_double(self.out)

    def as_double(self, value: LLVMValue) -> LLVMValue:
        return value.convert("sitofp", "double")

    # --- taps --------------------------------------------------------------------------------

    def linear_weight(self, position: LLVMValue, element: LLVMValue) -> LLVMValue:
        """max(1 - |element - position|, 0), a float."""
        return (1.0 - self.fabs(element - position)).clamp_min(0.0).convert("fptrunc", "float")

    def nearest_index(self, position: LLVMValue) -> LLVMValue:
        """The index of the nearest element by the variant's rounding."""
        match self.variant.nearest_mode:
            case "round_prefer_floor":
                rounded = self.call_intrinsic("ceil", position - 0.5)
            case "round_prefer_ceil":
                rounded = self.call_intrinsic("floor", position + 0.5)
            case intrinsic:
                rounded = self.call_intrinsic(intrinsic, position)
        return self.clamp_index(rounded.convert("fptosi", "i64"))

    def clamp_index(self, index: LLVMValue) -> LLVMValue:
        """An index clamped to [0, size)."""
        last = self.size - 1
        index = self.select(index < last, index, last)
        return self.select(index < 0, self.constant(0, I64), index)

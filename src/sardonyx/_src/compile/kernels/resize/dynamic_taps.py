"""Tap tables of Resize computed at run time, for axes of dynamic size.

A tap is an input element and its weight in an output element.  The kernel fills the tables of one axis, indices int64
[out, taps] and weights float32 [out, taps], from which `resize_step` resizes; the arithmetic is that of the reference
implementation, so that both engines choose the same taps.  Supports nearest and linear interpolation: 1 tap, or 2.
A unit of work is `table_unit_elements` output elements; the loop nest is one loop over them, in float64.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import Literal

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.tuning import ResizeTuning
from sardonyx._src.compile.program import Kernel, Step, TensorView
from sardonyx._src.dataclass import dataclass
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


@dataclass(frozen=True, slots=True)
class DynamicAxis:
    """An axis of `size` elements that is resized to `out`; scale: the scale of the node, None if the node has sizes."""

    size: Known
    out: Known
    scale: float | None


@dataclass(frozen=True, slots=True)
class TapTableVariant:
    """The specialization of a tap table kernel.

    coordinates: the attribute coordinate_transformation_mode.
    nearest_mode: the rounding of nearest interpolation; "" for linear interpolation.
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
    """The step that fills the tables of an axis with size > 0.

    indices: int64 [out, taps], weights: float32 [out, taps], both dense; nearest interpolation has 1 tap and no weights,
    linear interpolation (nearest_mode "") has 2 taps.
    """
    variant = TapTableVariant(coordinates, nearest_mode, axis.scale is not None)
    parameters = tap_table_parameters(variant)
    kernel = Kernel(variant.key, partial(tap_table_module, variant=variant), parameters)
    scale_bits: int = struct.unpack("<i", struct.pack("<f", axis.scale or 1.0))[0]
    tables = {"indices": indices} if weights is None else {"indices": indices, "weights": weights}
    return Step(
        kernel=kernel,
        args=parameters.pack(**tables, size=axis.size, out=axis.out, scale=scale_bits),
        units=ceil_div(axis.out, ResizeTuning.table_unit_elements),
        reads=(),
        writes=tuple(tables.values()),
        flops=axis.out * 30,
    )


def tap_table_parameters(variant: TapTableVariant) -> Parameters:
    """The tables, the sizes of the axis, and the scale, as the bits of a float32."""
    tables = ("indices",) if variant.nearest_mode else ("indices", "weights")
    return Parameters(*tables, "size", "out", "scale")


# --- the kernel ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoadedAxis:
    """An axis in a kernel: its variant, its sizes and its scale, a float."""

    variant: TapTableVariant
    size: LLVMValue
    out: LLVMValue
    scale: LLVMValue


def tap_table_module(name: str, target: Target, variant: TapTableVariant) -> str:
    """The LLVM module of the kernel."""
    b = KernelBuilder(target, tap_table_parameters(variant))
    indices = b.pointer("indices")
    weights = "" if variant.nearest_mode else b.pointer("weights")
    size, out, scale_bits = b.integers("size", "out", "scale")
    axis = LoadedAxis(variant, size, out, scale_bits.convert("trunc", "i32").bitcast())
    interpolates = b.constant(0, I64) if variant.nearest_mode else emit_interpolates(b, axis)
    unit_elements = ResizeTuning.table_unit_elements
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        first = unit * unit_elements
        end = b.select(first + unit_elements < out, first + unit_elements, out)
        with b.loop(first, end, name="out") as i:
            position = input_position(b, axis, i)
            if variant.nearest_mode:
                slot = MemoryLocation(b.gep(indices, i, "i64"), I64)
                b.store(slot, nearest_index(b, axis, position))
            else:
                store_linear_taps(b, axis, indices, weights, i, position, interpolates)
    return b.build_module(name)


def emit_interpolates(b: KernelBuilder, axis: LoadedAxis) -> LLVMValue:
    """Whether the second tap of any output element has a nonzero weight: an i64, 0 or 1."""
    result = b.new_slot("mixes", I64)
    b.store(result, b.constant(0, I64))
    with b.loop(b.constant(0, I64), axis.out, name="look") as i:
        position = input_position(b, axis, i)
        second = b.call_intrinsic("floor", position) + 1.0
        has_weight = linear_weight(b, position, second).ne(0)
        b.store(result, b.load(result) | has_weight.convert("zext", "i64"))
    return b.load(result)


def store_linear_taps(
    b: KernelBuilder,
    axis: LoadedAxis,
    indices: str,
    weights: str,
    i: LLVMValue,
    position: LLVMValue,
    interpolates: LLVMValue,
) -> None:
    """Stores both taps of linear interpolation of output element i.

    On an axis without interpolation, both taps are the first one with weight 0.5: weight 0 of an infinite element
    would make NaN.
    """
    low = b.call_intrinsic("floor", position)
    tap_weights = [linear_weight(b, position, low), linear_weight(b, position, low + 1.0)]
    is_single_tap = interpolates.eq(0)
    half = b.constant(0.5, tap_weights[0].type)
    index = low.convert("fptosi", "i64")
    tap_indices = [
        clamp_index(b, axis, index),
        b.select(is_single_tap, clamp_index(b, axis, index), clamp_index(b, axis, index + 1)),
    ]
    for tap, (tap_index, tap_weight) in enumerate(zip(tap_indices, tap_weights, strict=True)):
        b.store(MemoryLocation(b.gep(indices, i * 2 + tap, "i64"), I64), tap_index)
        weight = b.select(is_single_tap, half, tap_weight)
        b.store(MemoryLocation(b.gep(weights, i * 2 + tap), LLVMType("float")), weight)


# --- positions -------------------------------------------------------------------------------


def input_position(b: KernelBuilder, axis: LoadedAxis, i: LLVMValue) -> LLVMValue:
    """The position of an output element on the input axis, a double."""
    index = as_double(i)
    match axis.variant.coordinates:
        case "asymmetric":
            return divide_by_scale(axis, index)
        case "half_pixel":
            return divide_by_scale(axis, index + 0.5) - 0.5
        case "pytorch_half_pixel":
            origin = b.constant(0.0, COORDINATE_TYPE)
            return b.select(axis.out > 1, divide_by_scale(axis, index + 0.5) - 0.5, origin)
        case "align_corners":
            steps = index * (as_double(axis.size) - 1.0)
            return b.select(axis.out > 1, steps / (unrounded_out(axis) - 1.0), steps)


def unrounded_out(axis: LoadedAxis) -> LLVMValue:
    """The size of the output before it was rounded to an integer."""
    if not axis.variant.has_scale:
        return as_double(axis.out)
    return axis.scale.convert("fpext", "double") * as_double(axis.size)


def divide_by_scale(axis: LoadedAxis, position: LLVMValue) -> LLVMValue:
    """position / scale: in float32 if the node has a scale, else in float64 by the ratio of the sizes."""
    if axis.variant.has_scale:
        return (position.convert("fptrunc", "float") / axis.scale).convert("fpext", "double")
    return position * as_double(axis.size) / as_double(axis.out)


def as_double(value: LLVMValue) -> LLVMValue:
    return value.convert("sitofp", "double")


# --- taps ------------------------------------------------------------------------------------


def linear_weight(b: KernelBuilder, position: LLVMValue, element: LLVMValue) -> LLVMValue:
    """max(1 - |element - position|, 0), a float."""
    return (1.0 - b.fabs(element - position)).clamp_min(0.0).convert("fptrunc", "float")


def nearest_index(b: KernelBuilder, axis: LoadedAxis, position: LLVMValue) -> LLVMValue:
    """The index of the nearest element by the variant's rounding."""
    match axis.variant.nearest_mode:
        case "round_prefer_floor":
            rounded = b.call_intrinsic("ceil", position - 0.5)
        case "round_prefer_ceil":
            rounded = b.call_intrinsic("floor", position + 0.5)
        case intrinsic:
            rounded = b.call_intrinsic(intrinsic, position)
    return clamp_index(b, axis, rounded.convert("fptosi", "i64"))


def clamp_index(b: KernelBuilder, axis: LoadedAxis, index: LLVMValue) -> LLVMValue:
    """An index clamped to [0, size)."""
    index = b.min(index, axis.size - 1)
    return b.select(index < 0, b.constant(0, I64), index)

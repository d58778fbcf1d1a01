"""Scales and zero points of 8 bits: of activations, one for a tensor; of weights, one for each output channel."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

WEIGHT_LIMIT = 127  # symmetric: -128 is not used
# Scales below it are those of channels without weights to speak of; kernels divide by scales of moderate size only.
LEAST_SCALE = 1e-20
# The greatest bias, as a multiple of the product of scales: below 2^31, so that the sums do not overflow.
BIAS_LIMIT = 1 << 30


@dataclass(frozen=True, slots=True)
class Range:
    """The interval of numbers that an activation's integers span; what is outside of it becomes its ends."""

    low: float
    high: float

    def union(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))


@dataclass(frozen=True, slots=True)
class ActivationParameters:
    """scale * (integer - zero point) is the number that an integer stands for.

    dtype: UINT8 or INT8.
    """

    scale: np.float32
    zero_point: int
    dtype: DataType

    def quantize(self, numbers: Array) -> Array:
        """The integers of floats, as QuantizeLinear computes them."""
        limits = np.iinfo(self.dtype.numpy)
        integers = np.rint(numbers / self.scale) + self.zero_point
        return np.asarray(np.clip(integers, limits.min, limits.max), self.dtype.numpy)

    def dequantize(self, integers: Array) -> Array:
        return np.asarray((integers.astype(np.float32) - np.float32(self.zero_point)) * self.scale)


def activation_parameters(span: Range, dtype: DataType) -> ActivationParameters:
    """The parameters of a range, which is extended to zero: zero has an integer of its own.

    Numbers that are not negative have the lowest integer as zero point, so that a Relu before the quantization saturates alike.
    """
    limits = np.iinfo(dtype.numpy)
    low, high = min(span.low, 0.0), max(span.high, 0.0)
    scale = np.float32((high - low) / (limits.max - limits.min))
    if not scale > LEAST_SCALE:
        return ActivationParameters(np.float32(1), int(limits.min), dtype)
    return ActivationParameters(scale, int(limits.min - np.rint(low / float(scale))), dtype)


@dataclass(frozen=True, slots=True)
class IntegerWeight:
    """A weight in int8, its scales float32 [channels], and its bias in int32 [channels]."""

    integers: Array
    scales: Array
    bias: Array | None

    def dequantized(self, axis: int) -> Array:
        """The weight that the integers stand for; axis: of the output channels."""
        return np.asarray(self.integers.astype(np.float32) * along(self.scales, self.integers.ndim, axis))

    def bias_scales(self, operand: ActivationParameters) -> Array:
        return np.asarray(self.scales * operand.scale, np.float32)


def weight_scales(weight: Array, axis: int) -> Array:
    """The scales of the channels of a weight, whose largest element becomes 127: float32 [channels]."""
    others = tuple(i for i in range(weight.ndim) if i != axis)
    scales = np.abs(weight).max(axis=others) / np.float32(WEIGHT_LIMIT)
    return np.where(scales > LEAST_SCALE, scales, np.float32(1)).astype(np.float32)


def round_weight(weight: Array, scales: Array, axis: int) -> Array:
    """The nearest integers, int8."""
    integers = np.rint(weight / along(scales, weight.ndim, axis))
    return np.asarray(np.clip(integers, -WEIGHT_LIMIT, WEIGHT_LIMIT), np.int8)


def weight_integers(weight: Array, axis: int) -> tuple[Array, Array]:
    """The integers of a weight, int8, and its scales, float32 [channels]."""
    scales = weight_scales(weight, axis)
    return round_weight(weight, scales, axis), scales


def integer_weight(
    weight: Array, axis: int, bias: Array | None, operand: ActivationParameters
) -> IntegerWeight:
    """The integers of a weight, and of its bias, whose scale is the product of the scales of weight and operand.

    Channels whose bias is large beside their weights have a larger scale, so that the bias fits.
    """
    scales = weight_scales(weight, axis)
    if bias is None:
        return IntegerWeight(round_weight(weight, scales, axis), scales, None)
    least = np.abs(bias.astype(np.float64)) / (float(operand.scale) * BIAS_LIMIT)
    scales = np.maximum(scales, least.astype(np.float32))
    products = (scales * operand.scale).astype(np.float64)
    integers = np.rint(bias / products).astype(np.int32)
    return IntegerWeight(round_weight(weight, scales, axis), scales, integers)


def along(numbers: Array, rank: int, axis: int) -> Array:
    """A vector along one axis of an array of this rank."""
    return numbers.reshape([-1 if i == axis else 1 for i in range(rank)])

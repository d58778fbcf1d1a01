"""Cases of convolutions, pooling, resampling and norms of images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from probes.case_builder import QUARTER, CaseBuilder, KernelCase, pattern
from sardonyx._src.ir import Array

SAME: dict[str, Any] = {"pads": [1, 1, 1, 1]}
HALF: dict[str, Any] = {"pads": [1, 1, 1, 1], "strides": [2, 2]}


def cases() -> Iterator[KernelCase]:
    yield from convolutions()
    yield from depthwise()
    yield from pools()
    yield from resampling()
    yield from norms()


def small(*shape: int) -> Array:
    return pattern(*shape, low=-2, high=2)


def convolve(b: CaseBuilder, image: tuple[int, ...], weights: tuple[int, ...], **attributes: Any) -> Any:
    return b.Conv(b.feed(*image), small(*weights), pattern(weights[0]), **attributes)


def convolutions() -> Iterator[KernelCase]:
    """Of channels and pixels that no tile divides."""
    for channels in (10, 64):  # tiles of one and of four vectors
        b = CaseBuilder()
        y = convolve(b, (1, 17, 3, 5), (channels, 17, 1, 1))
        yield b.case(f"pointwise convolution to {channels} channels", y)
    b = CaseBuilder()
    yield b.case("convolution with strides", convolve(b, (1, 16, 6, 7), (10, 16, 3, 3), **HALF))
    b = CaseBuilder()
    yield b.case("convolution of 3 channels", convolve(b, (1, 3, 7, 9), (10, 3, 3, 3), **HALF))
    b = CaseBuilder()  # by a Winograd transform
    weights = pattern(16, 16, 3, 3, low=0, high=1)
    yield b.case(
        "convolution of 3 x 3", b.Conv(b.feed(1, 16, 14, 14, low=-1, high=2), weights, **SAME), tolerance=1e-3
    )
    b = CaseBuilder()  # with pixels in the lanes
    y = convolve(b, (1, 5, 7, 37), (1, 5, 5, 5), pads=[2, 2, 2, 2])
    yield b.case("convolution to one channel", y)
    b = CaseBuilder()  # with several groups in a vector
    yield b.case(
        "convolution of groups of four channels", convolve(b, (1, 32, 5, 7), (32, 4, 3, 3), **SAME, group=8)
    )
    b, scale = CaseBuilder(), np.float32(0.25)
    x = b.DequantizeLinear(b.feed(1, 16, 5, 7, dtype="uint8", low=0, high=255), scale, np.uint8(120))
    weights = pattern(64, 16, 1, 1, dtype="int8", low=-128, high=127)
    y = b.Conv(x, b.DequantizeLinear(weights, scale, np.int8(0)))
    yield b.case("quantized convolution", b.QuantizeLinear(y, np.float32(64), np.uint8(128)))


def depthwise() -> Iterator[KernelCase]:
    b = CaseBuilder()
    yield b.case("depthwise convolution", convolve(b, (1, 24, 6, 7), (24, 1, 3, 3), **SAME, group=24))
    b, scale = CaseBuilder(), np.float32(0.25)
    x = b.DequantizeLinear(b.feed(1, 24, 7, 6, dtype="uint8", low=0, high=255), scale, np.uint8(0))
    weights = pattern(24, 1, 3, 3, dtype="int8", low=-128, high=127)
    y = b.Conv(x, b.DequantizeLinear(weights, scale, np.int8(0)), **SAME, group=24)
    yield b.case("quantized depthwise convolution", b.QuantizeLinear(y, np.float32(64), np.uint8(128)))


def pools() -> Iterator[KernelCase]:
    options: dict[str, Any] = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    for is_last in (False, True):
        for name in ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"):
            b = CaseBuilder()
            x = convolve(b, (1, 17, 7, 9), (10, 17, 1, 1)) if is_last else b.feed(1, 3, 7, 19)
            y = getattr(b, name)(x, **({} if "Global" in name else options))
            yield b.case(f"{name}{', channels last' * is_last}", y)
    b = CaseBuilder()
    y = b.AveragePool(b.feed(1, 3, 7, 19), count_include_pad=1, **options)
    yield b.case("AveragePool with pads", y)
    b = CaseBuilder()
    yield b.case("MaxPool of float64", b.MaxPool(b.feed(1, 3, 7, 19, dtype="float64"), **options))
    b, scale = CaseBuilder(), np.float32(0.25)
    x = b.QuantizeLinear(b.feed(1, 24, 7, 9, scale=QUARTER), scale, np.uint8(9))
    x = b.MaxPool(b.DequantizeLinear(x, scale, np.uint8(9)), **options)
    yield b.case("MaxPool of bytes", b.QuantizeLinear(x, scale, np.uint8(9)))
    b = CaseBuilder()
    shape: dict[str, Any] = {"kernel_shape": [2, 3, 2], "dilations": [1, 2, 1], "strides": [2, 2, 2]}
    yield b.case("AveragePool in three dims", b.AveragePool(b.feed(1, 2, 5, 9, 7), **shape))
    b = CaseBuilder()
    yield b.case("LpPool", b.LpPool(b.feed(1, 3, 9, 19), **options))
    b = CaseBuilder()
    yield b.case("LRN", b.LRN(b.feed(1, 11, 4, 5), size=5))


def resampling() -> Iterator[KernelCase]:
    for is_last in (False, True):
        for mode in ("nearest", "linear", "cubic")[is_last:]:
            b = CaseBuilder()
            x = convolve(b, (1, 17, 4, 5), (10, 17, 1, 1)) if is_last else b.feed(1, 2, 4, 5)
            y = b.Resize(x, None, np.array([1, 1, 2, 2], np.float32), mode=mode)
            yield b.case(f"Resize, {mode}{', channels last' * is_last}", y, tolerance=1e-4)
    for padding, corners in (("zeros", 0), ("zeros", 1), ("border", 0), ("border", 1)):
        b = CaseBuilder()
        grid = b.feed(1, 3, 5, 2, scale=QUARTER)
        y = b.GridSample(b.feed(1, 11, 5, 6), grid, padding_mode=padding, align_corners=corners)
        yield b.case(f"GridSample, {padding}{', corners' * corners}", y)


def norms() -> Iterator[KernelCase]:
    scale, bias = pattern(16, low=1), pattern(16)
    for is_last in (False, True):
        b = CaseBuilder()
        x = convolve(b, (1, 17, 4, 5), (16, 17, 1, 1)) if is_last else b.feed(1, 16, 4, 5)
        y = b.GroupNormalization(x, scale, bias, num_groups=4)
        y = b.Conv(y, small(10, 16, 1, 1)) if is_last else y
        yield b.case(f"GroupNormalization{', channels last' * is_last}", y, tolerance=1e-4)
    b = CaseBuilder()
    y = b.GroupNormalization(b.feed(1, 16, 4, 5), scale, bias, num_groups=4)
    yield b.case("GroupNormalization with what follows", b.Relu(y), tolerance=1e-4)

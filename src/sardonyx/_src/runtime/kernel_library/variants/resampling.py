"""Images of other sizes: Resize in the modes of networks, with what follows it, and GridSample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sardonyx._src.ir import Model
from sardonyx._src.runtime.kernel_library.variants.variant_builder import (
    COMMON,
    Dims,
    VariantBuilder,
    float32s,
    int64s,
)

IMAGES: tuple[Dims, ...] = ((1, 32, 14, 14), (1, 2, 14, 14), ("N", 32, "H", "W"), (1, 32, 50))
MODES = (  # mode, coordinates, rounding
    ("nearest", "asymmetric", "floor"),
    ("nearest", "half_pixel", "round_prefer_floor"),
    ("linear", "half_pixel", "floor"),
    ("linear", "align_corners", "floor"),
    ("linear", "asymmetric", "floor"),
    ("linear", "pytorch_half_pixel", "floor"),
    ("cubic", "half_pixel", "floor"),
)


def models() -> Iterator[Model]:
    for image in IMAGES:
        yield resized(image)
    yield sampled()


def resized(image: Dims) -> Model:
    """By factors, to known sizes, and to those of another image; also channels-last, between convolutions."""
    b, spatial = VariantBuilder(), len(image) - 2
    for mode, coordinates, rounding in MODES:
        options: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates}
        options["nearest_mode"] = rounding
        for factor in (2, 4):
            scales = float32s(1, 1, *[factor] * spatial)
            b.result(b.Resize(b.operand(*image), None, scales, **options))
        if not all(isinstance(dim, int) for dim in image):
            kept, other = b.Shape(b.operand(*image), end=2), b.Shape(b.operand(*like(image)), start=2)
            b.result(b.Resize(b.operand(*image), None, None, b.Concat(kept, other, axis=0), **options))
            continue
        sizes = int64s(*(int(dim) for dim in image[:2]), *[21] * spatial)
        b.result(b.Resize(b.operand(*image), None, None, sizes, **options))
        if spatial == 2:
            followed(b, image, sizes, options)
    return b.finish()


def like(image: Dims) -> Dims:
    """The dims of another image."""
    return [dim if isinstance(dim, int) else f"{dim}2" for dim in image]


def followed(b: VariantBuilder, image: Dims, sizes: Any, options: dict[str, Any]) -> None:
    """Of the result of a convolution, then a sum or a product with another one."""
    channels = int(image[1])
    larger = [int(size) for size in sizes]

    def y(dims: Sequence[int | str]) -> Any:
        return b.Relu(b.Conv(b.operand(*dims), b.weight(channels, channels, 1, 1)))

    b.result(b.Resize(y(image), None, None, sizes, **options))
    for activation in (COMMON[""], COMMON["Sigmoid"]):
        other = y(larger)  # computed before, so that it is an operand of the Resize
        b.result(activation(b, b.Resize(y(image), None, None, sizes, **options)) * other)
    other = y(larger)
    b.result(b.Resize(y(image), None, None, sizes, **options) + other)
    b.result(b.Resize(y(image), None, None, sizes, **options) * np.float32(2))


def sampled() -> Model:
    b = VariantBuilder()
    for padding in ("zeros", "border", "reflection"):
        for mode in ("linear", "nearest"):
            for corners in (0, 1):
                options: dict[str, Any] = {"mode": mode, "padding_mode": padding, "align_corners": corners}
                b.result(b.GridSample(b.operand(1, 4, 14, 14), b.operand(1, 7, 7, 2), **options))
    return b.finish()

"""The sizes that resizing gives, by numbers and by symbols."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, Expr
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.image.resize.stretch import Stretch

POLICIES = ("stretch", "not_larger", "not_smaller")


def by_scale(size: int, scale: np.float32, start: float = 0, stop: float = 1) -> Stretch:
    """An axis resized by a scale, of what lies between `start` and `stop`; the product is rounded as float32 is."""
    part = np.float32(size) * np.float32(stop - start) if (start, stop) != (0, 1) else np.float32(size)
    return Stretch(size, max(int(np.floor(part * scale)), 0), Fraction(float(scale)), True, start, stop)


def checked_scales(scales: Array, least: float | None = None) -> list[np.float32]:
    """The scales as numbers; raises EvaluationError for one that is not positive, or is below `least`."""
    values = [np.float32(s) for s in scales.reshape(-1)]
    for s in values:
        if not (np.isfinite(s) and s > 0) or (least is not None and s < least):
            raise EvaluationError(
                f"a scale is {s}, {'above 0' if least is None else f'at least {least:g}'} is wanted"
            )
    return values


def by_sizes(size: Sequence[int], wanted: Sequence[int], policy: str) -> list[Stretch]:
    """Axes resized to the sizes that are wanted, or to those closest to them that keep the aspect ratio."""
    if policy not in POLICIES:
        raise EvaluationError(f"keep_aspect_ratio_policy is {policy!r}, not one of {', '.join(POLICIES)}")
    if min(wanted, default=0) < 0:
        raise EvaluationError(f"sizes {list(wanted)} have a negative entry")
    if policy == "stretch":
        ratios = [Fraction(w, max(n, 1)) for n, w in zip(size, wanted, strict=True)]
        return [Stretch(n, w, s, False) for n, w, s in zip(size, wanted, ratios, strict=True)]
    if not wanted or min(size) == 0:
        raise EvaluationError(f"axes of sizes {list(size)} have no aspect ratio to keep")
    ratios = [Fraction(w, n) for n, w in zip(size, wanted, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [Stretch(n, int(scale * n + Fraction(1, 2)), scale, False) for n in size]


def scaled_dim(size: Dim, scale: np.float32) -> Dim:
    """The size that `by_scale` gives; of an expression where the scale is a short binary fraction."""
    if isinstance(size, int):
        return by_scale(size, scale).out
    ratio = Fraction(float(scale))
    if isinstance(size, Expr) and ratio.denominator <= 64 and ratio.numerator <= 4096:
        return size * ratio.numerator // ratio.denominator
    return None

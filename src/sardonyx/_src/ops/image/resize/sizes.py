"""The output sizes of resizing, for known and for symbolic sizes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Dim, Expr
from sardonyx._src.ops.image.resize.resampled_axis import ResampledAxis

POLICIES = ("stretch", "not_larger", "not_smaller")


def by_scale(size: int, scale: np.float32, start: float = 0, stop: float = 1) -> ResampledAxis:
    """An axis, of which the part from `start` to `stop` is resized by a scale.

    The output size is computed in float32 and rounded down.
    """
    part = np.float32(size) * np.float32(stop - start) if (start, stop) != (0, 1) else np.float32(size)
    return ResampledAxis(size, max(int(np.floor(part * scale)), 0), Fraction(float(scale)), True, start, stop)


def validate_scales(scales: Array, minimum: float | None = None) -> list[np.float32]:
    """The scales as numbers; raises EvaluationError for one that is not positive and finite, or is below `minimum`."""
    values = [np.float32(s) for s in scales.reshape(-1)]
    for s in values:
        if not (np.isfinite(s) and s > 0) or (minimum is not None and s < minimum):
            raise EvaluationError(
                f"scales must be finite and {'> 0' if minimum is None else f'>= {minimum:g}'}; got {s}"
            )
    return values


def by_sizes(size: Sequence[int], requested: Sequence[int], policy: str) -> list[ResampledAxis]:
    """Axes resized to the requested sizes; with another policy than "stretch", to sizes that preserve the aspect ratio.

    "not_larger" and "not_smaller" use the smallest and the largest of the requested ratios for all axes.
    """
    if policy not in POLICIES:
        raise EvaluationError(
            f"keep_aspect_ratio_policy must be one of {', '.join(POLICIES)}; got {policy!r}"
        )
    if min(requested, default=0) < 0:
        raise EvaluationError(f"sizes must be >= 0; got {list(requested)}")
    if policy == "stretch":
        ratios = [Fraction(w, max(n, 1)) for n, w in zip(size, requested, strict=True)]
        return [ResampledAxis(n, w, s, False) for n, w, s in zip(size, requested, ratios, strict=True)]
    if not requested or min(size) == 0:
        raise EvaluationError(f"resized axes must be > 0 to preserve an aspect ratio; got {list(size)}")
    ratios = [Fraction(w, n) for n, w in zip(size, requested, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [ResampledAxis(n, int(scale * n + Fraction(1, 2)), scale, False) for n in size]


def scaled_dim(size: Dim, scale: np.float32) -> Dim:
    """The output size of `by_scale`; for an expression None, unless the scale is a fraction of small numbers."""
    if isinstance(size, int):
        return by_scale(size, scale).out
    ratio = Fraction(float(scale))
    if isinstance(size, Expr) and ratio.denominator <= 64 and ratio.numerator <= 4096:
        return size * ratio.numerator // ratio.denominator
    return None

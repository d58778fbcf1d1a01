"""GridSample, decomposed into the taps of each point and their weighted sum."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.grad.operators.sampling import AxisTaps, Sampler
from sardonyx._src.grad.registry import decomposition
from sardonyx._src.ir import Value
from sardonyx._src.ops.backward_step import BackwardStep

CUBIC = -0.75  # the coefficient a of cubic convolution (Keys, 1981)


@decomposition("GridSample", 22)
def grid_sample(step: BackwardStep) -> Sequence[Value | None] | None:
    """Pixels and weights as the reference kernel computes them; mode "nearest" has no gradient with respect to the grid."""
    x, grid, rank = step.input(0), step.input(1), step.rank(0) - 2
    if not step.dtype(0).is_float:
        step.refuse("its images must have floating-point elements")
    sampler = Sampler.of(step, 0, 1)
    wide_x, wide_grid = sampler.widen(x), sampler.widen(grid)
    axes = [axis_taps(sampler, wide_x, wide_grid, i, rank) for i in range(rank)]
    samples = sampler.sample(wide_x, axes)
    lead = step.op("Shape", x, start=0, end=2)
    out = step.op("Shape", grid, start=1, end=-1)
    result = step.op("Reshape", samples, step.op("Concat", lead, out, axis=0), allowzero=1)
    return [step.op("Cast", result, to=step.dtype(0))]


def axis_taps(sampler: Sampler, x: Value, grid: Value, i: int, rank: int) -> AxisTaps:
    """The taps along spatial axis i; the coordinates of the grid name the last axis first."""
    step, size = sampler.step, sampler.size(x, 2 + i)
    mode, aligned = str(step.inference.attributes["mode"]), bool(step.inference.integer("align_corners"))
    padding = str(step.inference.attributes["padding_mode"])
    coordinate = step.op("Gather", grid, step.integers(rank - 1 - i), axis=-1)
    count = step.ReduceProd(step.op("Shape", grid, start=1, end=-1))
    rows = step.op("Concat", step.op("Shape", grid, start=0, end=1), count, axis=0)
    points = step.op("Reshape", coordinate, rows, allowzero=1)
    shifted = step.Add(points, sampler.number(1))
    last = step.Sub(size, sampler.number(1))
    if aligned:
        position = sampler.scale_of_type(step.Mul(shifted, last), 0.5)
    else:
        position = sampler.scale_of_type(step.Sub(step.Mul(shifted, size), sampler.number(1)), 0.5)
    if padding != "reflection":  # all points far outside are equivalent
        position = sampler.clamp(position, -4, step.Add(size, sampler.number(3)))
    if mode == "cubic":
        return cubic_taps(sampler, position, size, padding, aligned)
    position = pad(sampler, position, size, padding, aligned)
    if mode == "nearest":
        whole = sampler.stack(step.Round(position))
        return AxisTaps(whole, step.Expand(sampler.number(1), step.Shape(whole)), size, 1)
    return sampler.linear_taps(position, size)


def pad(sampler: Sampler, position: Value, size: Value, padding: str, aligned: bool) -> Value:
    """Positions clamped to the border of the image or reflected there; unchanged for zeros."""
    if padding == "zeros":
        return position
    step, last = sampler.step, sampler.step.Sub(size, sampler.number(1))
    if padding == "reflection":
        low = sampler.number(0 if aligned else -0.5)
        period = sampler.scale_of_type(last if aligned else size, 2)
        safe = step.Where(step.Equal(period, sampler.number(0)), sampler.number(1), period)
        offset = step.Sub(position, low)
        folded = step.Sub(offset, step.Mul(step.Floor(step.Div(offset, safe)), period))
        is_point = step.Equal(period, sampler.number(0))
        folded = step.Where(is_point, sampler.number(0), folded)
        position = step.Add(step.Min(folded, step.Sub(period, folded)), low)
    return sampler.clamp(position, 0, last)


def cubic_taps(sampler: Sampler, position: Value, size: Value, padding: str, aligned: bool) -> AxisTaps:
    """The four pixels around each position, weighted by the cubic convolution kernel; padding applies to each pixel."""
    step = sampler.step
    first = step.Floor(position)
    share = step.Sub(position, first)
    places = [
        step.Round(pad(sampler, step.Add(first, sampler.number(offset)), size, padding, aligned))
        for offset in (-1, 0, 1, 2)
    ]
    distances = [
        step.Add(share, sampler.number(1)),
        share,
        step.Sub(sampler.number(1), share),
        step.Sub(sampler.number(2), share),
    ]
    weights = [polynomial(sampler, distance, is_near=i in (1, 2)) for i, distance in enumerate(distances)]
    return AxisTaps(sampler.stack(*places), sampler.stack(*weights), size, 4)


def polynomial(sampler: Sampler, distance: Value, *, is_near: bool) -> Value:
    """The weight of a pixel at a distance up to 1, or between 1 and 2 (Keys, 1981)."""
    factors = (CUBIC + 2, -(CUBIC + 3), 0, 1) if is_near else (CUBIC, -5 * CUBIC, 8 * CUBIC, -4 * CUBIC)
    total = sampler.number(factors[0])
    for factor in factors[1:]:
        total = sampler.step.Add(sampler.step.Mul(total, distance), sampler.number(factor))
    return total

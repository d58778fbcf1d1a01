"""DeformConv, decomposed into sampled taps and a matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.grad.operators.sampling import AxisTaps, Sampler
from sardonyx._src.grad.operators.sliding_windows import WindowAttributes, window_attributes
from sardonyx._src.grad.registry import decomposition
from sardonyx._src.ir import Value
from sardonyx._src.ops.backward_step import BackwardStep


@decomposition("DeformConv", 22)
def deform_conv(step: BackwardStep) -> Sequence[Value | None] | None:
    """A product of the weights with the columns [N, C * taps, P], whose elements are samples at shifted positions."""
    x, w, offset = (step.input(i) for i in range(3))
    sampler = Sampler.of(step, 0)
    kernel, windows = step.shape(1)[2:], window_attributes(step, 1)
    groups, group = step.inference.integer("offset_group"), step.inference.integer("group")
    taps = math.prod(kernel)
    batch, out = step.op("Shape", x, start=0, end=1), step.op("Shape", offset, start=2)
    count = step.Mul(batch, step.integers([groups]))
    points = step.ReduceProd(out)
    reads = step.Mul(points, step.integers([taps]))
    depth = step.Div(step.op("Shape", x, start=1, end=2), step.integers([groups]))
    images = reshape(step, sampler.widen(x), count, depth, step.op("Shape", x, start=2))
    offsets = reshape(step, sampler.widen(offset), count, step.integers([taps, windows.rank]), out)
    axes = [axis_taps(sampler, images, offsets, windows, kernel, i) for i in range(windows.rank)]
    columns = sampler.sample(images, axes)
    if step.inference.has(4):
        mask = reshape(step, sampler.widen(step.input(4)), count, step.integers([1]), reads)
        columns = step.Mul(columns, mask)
    rows = step.op("Shape", w)
    terms = step.integers([group, math.prod(step.shape(1)[1:])])
    kernels = step.Reshape(sampler.widen(w), step.integers([group, -1, math.prod(step.shape(1)[1:])]))
    product = step.MatMul(kernels, reshape(step, columns, batch, terms, points))
    first = step.op("Slice", rows, step.integers([0]), step.integers([1]))
    result = reshape(step, product, batch, first, out)
    if step.inference.has(3):
        column = step.integers([-1, *[1] * windows.rank])
        result = step.Add(result, step.Reshape(sampler.widen(step.input(3)), column))
    return [step.op("Cast", result, to=step.dtype(0))]


def axis_taps(
    sampler: Sampler, images: Value, offsets: Value, windows: WindowAttributes, kernel: Sequence[int], i: int
) -> AxisTaps:
    """The taps along spatial axis i of every point, that is of each tap of the kernel at each window.

    offsets: [B, taps, axes, *out].
    """
    step, rank = sampler.step, windows.rank
    shift = step.op("Gather", offsets, step.integers(i), axis=2)
    count = step.Squeeze(step.op("Shape", offsets, start=3 + i, end=4 + i), step.integers([0]))
    numbers = step.Range(step.integers(0), count, step.integers(1))
    starts = step.Sub(step.Mul(numbers, step.integers(windows.strides[i])), step.integers(windows.before[i]))
    line = step.Reshape(starts, step.integers([-1, *[1] * (rank - 1 - i)]))
    inside = np.indices(tuple(kernel))[i].reshape(-1, *[1] * rank) * windows.dilations[i]
    place = sampler.widen(step.Add(line, step.integers(inside)))
    rows = step.op("Shape", offsets, start=0, end=1)
    reads = step.Mul(step.ReduceProd(step.op("Shape", offsets, start=3)), step.integers([math.prod(kernel)]))
    position = reshape(step, step.Add(shift, place), rows, reads)
    return sampler.linear_taps(position, sampler.size(images, 2 + i))


def reshape(step: BackwardStep, x: Value, *sizes: Value) -> Value:
    """The elements of x in a shape of these sizes, some of which may be 0."""
    return step.Reshape(x, step.op("Concat", *sizes, axis=0), allowzero=1)

"""DeformConv, decomposed into sampled taps and a matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.grad.operators.sampling import AxisTaps, Sampler
from sardonyx._src.grad.operators.sliding_windows import WindowAttributes, window_attributes
from sardonyx._src.grad.registry import decomposition
from sardonyx._src.ir.graph import Value
from sardonyx._src.ops.backward_step import BackwardStep


@decomposition("DeformConv", 22)
def deform_conv(step: BackwardStep) -> Sequence[Value | None] | None:
    """The columns of a convolution, [N, C * taps, P], whose elements are samples at shifted positions."""
    x, w, offset = (step.input(i) for i in range(3))
    sampler = Sampler.of(step, 0)
    kernel, windows = step.shape(1)[2:], window_attributes(step, 1)
    groups, group = step.inference.integer("offset_group"), step.inference.integer("group")
    taps = math.prod(kernel)
    batch, out = step.op("Shape", x, start=0, end=1), step.op("Shape", offset, start=2)
    count = step.Mul(batch, step.integers([groups]))
    images = step.Reshape(
        sampler.widen(x),
        step.op("Concat", count, step.integers([-1]), step.op("Shape", x, start=2), axis=0),
    )
    offsets = step.Reshape(
        sampler.widen(offset), step.op("Concat", count, step.integers([taps, windows.rank]), out, axis=0)
    )
    axes = [axis_taps(sampler, images, offsets, windows, kernel, i) for i in range(windows.rank)]
    columns = sampler.sample(images, axes)
    if step.inference.has(4):
        mask = step.Reshape(
            sampler.widen(step.input(4)), step.op("Concat", count, step.integers([1, -1]), axis=0)
        )
        columns = step.Mul(columns, mask)
    rows = step.op("Shape", w)
    channels = step.op("Concat", batch, step.integers([group, math.prod(step.shape(1)[1:]), -1]), axis=0)
    kernels = step.Reshape(sampler.widen(w), step.integers([group, -1, math.prod(step.shape(1)[1:])]))
    product = step.MatMul(kernels, step.Reshape(columns, channels))
    first = step.op("Slice", rows, step.integers([0]), step.integers([1]))
    result = step.Reshape(product, step.op("Concat", batch, first, out, axis=0))
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
    position = step.Reshape(step.Add(shift, place), step.integers([0, -1]))
    return sampler.linear_taps(position, sampler.size(images, 2 + i))

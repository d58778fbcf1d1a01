"""Gradients of DFT, STFT and MelWeightMatrix."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.grad.registry import decomposition, operator
from sardonyx._src.ir import Value
from sardonyx._src.ops.backward_step import BackwardStep, Gradients

AXIS = 2  # position of the input `axis` of DFT


@operator("DFT").gradient(20)
def dft(step: BackwardStep) -> Gradients:
    """The adjoint of DFT is the inverse transform times the length; that of the inverse is DFT divided by the length."""
    x, dy = step.input(0), step.gradient()
    rank, axis = step.rank(0), known_axis(step)
    inverse, onesided = bool(step.inference.integer("inverse")), bool(step.inference.integer("onesided"))
    along = step.integers(axis)
    length = transform_length(step, x, axis)
    count = step.CastLike(length, x)
    if onesided and inverse:
        half = step.Div(step.op("DFT", dy, length, along, onesided=1), count)
        return resized(step, step.Mul(half, multiplicity(step, length, rank, axis)), x, axis)
    spectrum = padded(step, dy, length, axis, rank) if onesided else dy
    signal = step.op("DFT", spectrum, length, along, inverse=int(not inverse))
    scaled = step.Div(signal, count) if inverse else step.Mul(signal, count)
    return resized(step, real_part(step, scaled, x, rank), x, axis)


def known_axis(step: BackwardStep) -> int:
    """The axis of the transform, counted from the front."""
    axis = step.inference.constant(AXIS) if step.inference.has(AXIS) else None
    if step.inference.has(AXIS) and axis is None:
        step.refuse("its axis must be constant")
    return step.inference.axis(-2 if axis is None else int(axis.reshape(())), step.rank(0))


def transform_length(step: BackwardStep, x: Value, axis: int) -> Value:
    """The number of elements of the full transform, a scalar."""
    if step.inference.has(1):
        return step.op("Cast", step.Reshape(step.input(1), step.integers([])), to=7)
    size = step.Squeeze(step.op("Shape", x, start=axis, end=axis + 1), step.integers([0]))
    if step.inference.integer("onesided") and step.inference.integer("inverse"):
        return step.Mul(step.Sub(size, step.integers(1)), step.integers(2))
    return size


def multiplicity(step: BackwardStep, length: Value, rank: int, axis: int) -> Value:
    """How often each element of a half spectrum occurs in the full one: once at 0 and at half an even length, else twice."""
    half = step.Add(step.Div(length, step.integers(2)), step.integers(1))
    index = step.Range(step.integers(0), half, step.integers(1))
    is_single = step.Or(
        step.Equal(index, step.integers(0)), step.Equal(step.Mul(index, step.integers(2)), length)
    )
    counts = step.Where(is_single, step.scalar(1), step.scalar(2))
    return step.Reshape(counts, step.integers([-1 if i == axis else 1 for i in range(rank)]))


def padded(step: BackwardStep, half: Value, length: Value, axis: int, rank: int) -> Value:
    """A half spectrum, with zeros for the other half."""
    size = step.op("Shape", half, start=axis, end=axis + 1)
    missing = step.Sub(step.Reshape(length, step.integers([1])), size)
    amounts = step.op("Concat", step.integers([0]), missing, axis=0)
    return step.Pad(half, amounts, None, step.integers([axis]))


def real_part(step: BackwardStep, z: Value, x: Value, rank: int) -> Value:
    """The parts of complex numbers that x has: both, or only the real one."""
    parts = step.op("Shape", x, start=rank - 1, end=rank)
    return step.Slice(z, step.integers([0]), parts, step.integers([rank - 1]))


def resized(step: BackwardStep, gradient: Value, x: Value, axis: int) -> Value:
    """The gradient of x, from that of x cropped or padded with zeros to the length of the transform."""
    ends = [step.op("Shape", value, start=axis, end=axis + 1) for value in (x, gradient)]
    amounts = step.op("Concat", step.integers([0]), step.Sub(*ends), axis=0)
    return step.Pad(gradient, amounts, None, step.integers([axis]))


@decomposition("STFT", 17)
def stft(step: BackwardStep) -> Sequence[Value | None] | None:
    """The frames are gathered from the signal and multiplied by the window; the result is their DFT."""
    signal, hop = step.input(0), step.Reshape(step.input(1), step.integers([]))
    if step.rank(0) == 2:
        signal = step.Unsqueeze(signal, step.integers([-1]))
    size = step.Squeeze(step.op("Shape", signal, start=1, end=2), step.integers([0]))
    length, unit = frame_length(step, size), step.integers(1)
    hop = step.op("Cast", hop, to=7)
    count = step.Add(step.Div(step.Sub(size, length), hop), unit)
    starts = step.Mul(step.Range(step.integers(0), count, unit), hop)
    inside = step.Range(step.integers(0), length, unit)
    places = step.Add(step.Unsqueeze(starts, step.integers([1])), inside)
    frames = step.op("Gather", signal, places, axis=1)  # [batch, frames, length, parts]
    if step.inference.has(2):
        frames = step.Mul(frames, step.Unsqueeze(step.input(2), step.integers([-1])))
    onesided = step.inference.integer("onesided")
    return [step.op("DFT", frames, None, step.integers(2), onesided=onesided)]


def frame_length(step: BackwardStep, size: Value) -> Value:
    if step.inference.has(2):
        return step.Size(step.input(2))
    if step.inference.has(3):
        return step.op("Cast", step.Reshape(step.input(3), step.integers([])), to=7)
    return size


@operator("MelWeightMatrix").gradient(17)
def without_slope(step: BackwardStep) -> Gradients:
    """MelWeightMatrix rounds the edges of bands to whole bins: no gradient flows."""
    none: list[Value | None] = [None]
    return none

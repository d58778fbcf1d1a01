"""Contracts of kernels that interpolate images at points: GridSample, RoiAlign and the columns of DeformConv."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compile.contracts.contract import Axes, Contract, vector_edges
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.sampling.deform_columns import deform_columns_step
from sardonyx._src.compile.kernels.sampling.grid_sample import GridSampling, grid_sample_step
from sardonyx._src.compile.kernels.sampling.roi_align import RoiAlignment, roi_align_step
from sardonyx._src.compile.program import Step, Window
from sardonyx._src.ir import Array

CLOSE = 2e-5
SIZES = ((1, 1), (1, 4), (5, 3), (4, 7))


def interpolate(image: Array, y: Array, x: Array) -> Array:
    """The bilinear interpolation of an image [H, W, C] at points [...], with zeros around it: [..., C]."""
    height, width, _ = image.shape
    total = np.zeros((*y.shape, image.shape[2]))
    top, left = np.floor(y), np.floor(x)
    for dy, dx in np.ndindex(2, 2):
        line, pixel = top + dy, left + dx
        weight = (1 - np.abs(y - line)) * (1 - np.abs(x - pixel))
        inside = (line >= 0) & (line < height) & (pixel >= 0) & (pixel < width)
        place = (np.where(inside, line, 0).astype(int), np.where(inside, pixel, 0).astype(int))
        total += np.where(inside, weight, 0)[..., None] * image[place]
    return total


def grid_sample(
    trial: Trial,
    size: tuple[int, int],
    out: tuple[int, int],
    channels: int,
    border: bool,
    corners: bool,
    gap: Gap,
) -> Sequence[Step]:
    x, grid = trial.normal(2, *size, channels), trial.rng.uniform(-1.6, 1.6, (2, *out, 2)).astype(np.float32)
    y = np.zeros((2, *out, channels))
    for n in range(2):
        places = []
        for axis, length in enumerate(size):
            share = (grid[n, ..., 1 - axis].astype(np.float64) + 1) / 2
            place = share * (length - 1) if corners else share * length - 0.5
            places.append(np.clip(place, 0, length - 1) if border else place)
        y[n] = interpolate(x[n].astype(np.float64), *places)
    tensors = trial.input(x, gap), trial.input(grid), trial.result(y, gap=gap, tolerance=CLOSE)
    return [grid_sample_step(*tensors, GridSampling(border, corners))]


def grid_axes(target: Target) -> Axes:
    return {
        "size": SIZES,
        "out": ((0, 2), (1, 1), (3, 5)),
        "channels": vector_edges(target),
        "border": (False, True),
        "corners": (False, True),
        "gap": (0, 3, None),
    }


def roi_align(
    trial: Trial,
    size: tuple[int, int],
    regions: int,
    channels: int,
    is_mean: bool,
    half_pixel: bool,
    points: int,
) -> Sequence[Step]:
    """Regions that may lie outside of their image; points: of a bin along an axis."""
    x, images = trial.normal(2, *size, channels), trial.rng.integers(0, 2, regions)
    begin = trial.rng.integers(-2, 4, (regions, 2))
    rois = np.concatenate([begin, begin + trial.rng.integers(1, 6, (regions, 2))], 1).astype(np.float32)
    y = np.zeros((regions, 3, 2, channels))
    for r in range(regions):
        places = [
            bin_points(rois[r, 1 - axis], rois[r, 3 - axis], (3, 2)[axis], points, size[axis], half_pixel)
            for axis in range(2)
        ]
        y[r] = sample_bins(x[images[r]].astype(np.float64), places, is_mean)
    status = trial.status()
    tensors = trial.input(x), trial.input(rois), trial.input(images), trial.result(y, tolerance=CLOSE)
    return [roi_align_step(*tensors, status, RoiAlignment(is_mean, half_pixel, points, 1.0))]


def bin_points(
    begin: float, end: float, bins: int, points: int, length: int, half_pixel: bool
) -> tuple[Array, Array]:
    """The positions of the points of each bin along an axis [bins, points], and whether they are on the image."""
    shift = 0.5 if half_pixel else 0.0
    extent = float(end - begin) if half_pixel else max(float(end - begin), 1.0)
    count = points or int(np.ceil(extent / bins))
    place = begin - shift + extent / bins * (np.arange(bins)[:, None] + (np.arange(count) + 0.5) / count)
    return np.clip(place, 0, length - 1), (place >= -1) & (place <= length)


def sample_bins(image: Array, places: list[tuple[Array, Array]], is_mean: bool) -> Array:
    """The mean of the points of each bin, or the largest of their weighted corners."""
    (rows, is_row), (columns, is_column) = places
    grid_y = np.broadcast_to(
        rows[:, None, :, None], (len(rows), len(columns), rows.shape[1], columns.shape[1])
    )
    grid_x = np.broadcast_to(columns[None, :, None, :], grid_y.shape)
    inside = is_row[:, None, :, None] & is_column[None, :, None, :]
    if is_mean:
        values = np.where(inside[..., None], interpolate(image, grid_y, grid_x), 0)
        return np.asarray(values.mean((2, 3)))
    height, width, _ = image.shape
    top, left = np.floor(grid_y), np.floor(grid_x)
    largest = np.full((*grid_y.shape, image.shape[2]), -np.inf)
    for dy, dx in np.ndindex(2, 2):
        line, pixel = np.minimum(top + dy, height - 1), np.minimum(left + dx, width - 1)
        weight = np.abs(1 - dy - (grid_y - top)) * np.abs(1 - dx - (grid_x - left))
        largest = np.maximum(largest, weight[..., None] * image[line.astype(int), pixel.astype(int)])
    return np.asarray(np.where(inside[..., None], largest, 0).max((2, 3)))


def roi_axes(target: Target) -> Axes:
    return {
        "size": SIZES,
        "regions": (0, 1, 2, 5),
        "channels": vector_edges(target),
        "is_mean": (False, True),
        "half_pixel": (False, True),
        "points": (0, 1, 2, 3),
    }


def deform_columns(
    trial: Trial,
    size: tuple[int, int],
    out: tuple[int, int],
    share: int,
    groups: tuple[int, int],
    has_mask: bool,
    gap: Gap,
) -> Sequence[Step]:
    """share: the channels of each of the segments that groups and offset groups divide them into."""
    window = Window((3, 2), (1, 2), (2, 1), (1, 0))
    segments = int(np.lcm(*groups))
    channels, taps = share * segments, window.num_taps
    x, offsets = trial.normal(2, *size, channels), trial.normal(2, groups[1] * taps * 2, *out) * 2
    mask = trial.normal(2, groups[1] * taps, *out)
    y, part = np.zeros((2, *out, taps, channels)), channels // groups[1]
    for n, tap, group in np.ndindex(2, taps, groups[1]):
        number, own = group * taps + tap, slice(group * part, (group + 1) * part)
        line = np.arange(out[0])[:, None] * window.strides[0] - 1 + tap // 2 * window.dilations[0]
        pixel = np.arange(out[1]) * window.strides[1] + tap % 2 * window.dilations[1]
        down, across = offsets[n, 2 * number : 2 * number + 2].astype(np.float64)
        values = interpolate(x[n, ..., own].astype(np.float64), line + down, pixel + across)
        y[n, ..., tap, own] = values * (mask[n, number, ..., None] if has_mask else 1)
    by_group = y.reshape(2, *out, taps, groups[0], channels // groups[0]).transpose(0, 4, 1, 2, 3, 5)
    result = trial.result(np.ascontiguousarray(by_group), tolerance=CLOSE)
    tensors = trial.input(x, gap), trial.input(offsets), trial.input(mask) if has_mask else None
    return [deform_columns_step(*tensors, result, window, groups[1])]


def deform_axes(target: Target) -> Axes:
    return {
        "size": SIZES,
        "out": ((1, 1), (2, 3)),
        "share": (1, 2, 3, target.lanes, target.lanes + 1, 2 * target.lanes + 1),
        "groups": ((1, 1), (1, 2), (2, 1), (2, 3), (4, 2)),
        "has_mask": (False, True),
        "gap": (0, 3, None),
    }


CONTRACTS = [
    Contract(grid_sample, grid_axes),
    Contract(roi_align, roi_axes),
    Contract(deform_columns, deform_axes),
]

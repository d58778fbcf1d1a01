"""MaxRoiPool: the maxima of regions of an image, each divided into bins of whole pixels.

Spec: ai.onnx MaxRoiPool-1, -22; 22 adds bfloat16.  Details that the specification leaves open follow Fast R-CNN (arXiv
1504.08083): coordinates times spatial_scale are rounded, ties away from zero; a region includes both corners and
is at least one pixel wide; a bin extends from the floor of its start to the ceiling of its end, clipped to the image;
an empty bin gives 0.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.shapes import first_element_type

op = Operator("MaxRoiPool")


@op.infer(1, 22)
def infer(inference: Inference) -> Result:
    dtype = first_element_type(inference.tensor(0), inference.tensor(1))
    for i, rank in enumerate((4, 2)):
        if inference.rank(i) not in (None, rank):
            inference.fail(f"input {i} must have rank {rank}; got rank {inference.rank(i)}")
    x, rois, pooled = inference.shape(0), inference.shape(1), inference.integers("pooled_shape")
    if rois is not None and isinstance(rois[1], int) and rois[1] != 5:
        inference.fail(f"rois must have 5 entries, the image and two corners; got {rois[1]}")
    if pooled is None or len(pooled) != 2 or min(pooled) < 1:
        inference.fail(f"pooled_shape must be a height and a width >= 1; got {pooled}")
    lead = (None if rois is None else rois[0], None if x is None else x[1])
    return None if dtype is None else TensorType(dtype, (*lead, *pooled))


@op.eval(1, 22)
@compute_in_float32
def eval_22(
    x: Array, rois: Array, *, context: RunContext, pooled_shape: tuple[int, ...], spatial_scale: float
) -> Array:
    """x: [N, C, H, W], rois: [R, 5] as image, x1, y1, x2, y2, result: [R, C, *pooled_shape]."""
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5 or len(pooled_shape) != 2 or min(pooled_shape) < 1:
        actual = f"{list(x.shape)}, {list(rois.shape)} and pooled_shape {list(pooled_shape)}"
        raise EvaluationError(
            f"X and rois must be [N, C, H, W] and [R, 5], pooled_shape two sizes >= 1; got {actual}"
        )
    if not np.isfinite(rois).all() or (
        len(rois) and not (rois[:, 0].min() >= 0 and rois[:, 0].max() < x.shape[0])
    ):
        raise EvaluationError(f"rois must be finite and name images in [0, {x.shape[0]})")
    images = rois[:, 0].astype(np.int64)
    corners = round_half_away(rois[:, 1:] * rois.dtype.type(spatial_scale))
    rows = Bins.of(corners[:, 1], corners[:, 3], pooled_shape[0], x.shape[2])
    columns = Bins.of(corners[:, 0], corners[:, 2], pooled_shape[1], x.shape[3])
    check_result_bytes(
        context, (len(rois), pooled_shape[0], x.shape[3], x.shape[1]), x.dtype, "MaxRoiPool operand"
    )
    check_result_bytes(context, (len(rois), x.shape[1], *pooled_shape), x.dtype, "MaxRoiPool result")
    top = rows.max_of_bins(np.moveaxis(x, 1, 3), images)  # [R, bins, W, C]
    top = columns.max_of_bins(top.swapaxes(1, 2), np.arange(len(rois)))  # [R, bins across, bins down, C]
    empty = columns.empty[:, :, None, None] | rows.empty[:, None, :, None]
    return np.ascontiguousarray(np.where(empty, 0, top).transpose(0, 3, 2, 1))


@dataclass(frozen=True, slots=True)
class Bins:
    """The bins of each region along one axis."""

    start: Array  # [R, bins] int64
    stop: Array  # [R, bins] int64, exclusive

    @classmethod
    def of(cls, first: Array, last: Array, count: int, size: int) -> Bins:
        """`count` bins of each region, which has the pixels `first` to `last`, clipped to an image of `size` pixels."""
        width = np.maximum(last - first + 1, 1)[:, None]
        step = np.arange(count)
        start = first[:, None] + step * width // count
        stop = first[:, None] - (-(step + 1) * width // count)
        return cls(np.clip(start, 0, size), np.clip(stop, 0, size))

    @property
    def empty(self) -> Array:
        return self.stop <= self.start

    def max_of_bins(self, x: Array, items: Array) -> Array:
        """The maxima of x [items, size, ...] in the bins of each region; items: the item of each region."""
        top = np.full((*self.start.shape, *x.shape[2:]), -np.inf, x.dtype)
        if x.shape[1] == 0:
            return top
        for step in range(int((self.stop - self.start).max(initial=0))):
            position = np.clip(self.start + step, 0, np.maximum(self.stop - 1, 0))
            np.maximum(top, x[items[:, None], position], out=top)
        return top


def round_half_away(values: Array) -> Array:
    """The nearest integers, ties away from zero, as int64."""
    return np.trunc(values + np.copysign(values.dtype.type(0.5), values)).astype(np.int64)

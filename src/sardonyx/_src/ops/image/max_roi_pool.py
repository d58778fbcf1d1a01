"""MaxRoiPool: the greatest elements of regions of an image, each cut into bins of whole pixels.

Spec: ai.onnx MaxRoiPool-1, -22; 22 adds bfloat16.  What the text leaves open is as in Fast R-CNN (arXiv 1504.08083):
coordinates times spatial_scale are rounded, halves away from zero; both corners belong to a region, which is at least
one pixel wide; bins reach from the floor of where they begin to the ceiling of where they end, cut at the image; an
empty bin gives 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import element

op = Operator("MaxRoiPool")


@op.infer(1, 22)
def infer(t: Inference) -> Result:
    dtype = element(t.tensor(0), t.tensor(1))
    for i, rank in enumerate((4, 2)):
        if t.rank(i) not in (None, rank):
            t.fail(f"input {i} has rank {t.rank(i)}, {rank} is wanted")
    x, rois, pooled = t.shape(0), t.shape(1), t.integers("pooled_shape")
    if rois is not None and isinstance(rois[1], int) and rois[1] != 5:
        t.fail(f"rois have {rois[1]} entries, 5 are wanted: the image and two corners")
    if pooled is None or len(pooled) != 2 or min(pooled) < 1:
        t.fail(f"pooled_shape is {pooled}, a height and a width are wanted")
    lead = (None if rois is None else rois[0], None if x is None else x[1])
    return None if dtype is None else TensorType(dtype, (*lead, *pooled))


@op.eval(1, 22)
@in_float32
def eval_22(
    x: Array, rois: Array, *, call: Call, pooled_shape: tuple[int, ...], spatial_scale: float
) -> Array:
    """x: [N, C, H, W], rois: [R, 5] as image, x1, y1, x2, y2, result: [R, C, *pooled_shape]."""
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5 or len(pooled_shape) != 2 or min(pooled_shape) < 1:
        what = f"X is {list(x.shape)}, rois {list(rois.shape)}, pooled_shape {list(pooled_shape)}"
        raise EvaluationError(f"{what}: [N, C, H, W], [R, 5] and a height and width of at least 1 are wanted")
    if not np.isfinite(rois).all() or (
        len(rois) and not (rois[:, 0].min() >= 0 and rois[:, 0].max() < x.shape[0])
    ):
        raise EvaluationError(f"rois name images outside of the batch of {x.shape[0]}, or are not finite")
    images = rois[:, 0].astype(np.int64)
    corners = away_from_zero(rois[:, 1:] * rois.dtype.type(spatial_scale))
    rows = Bins.of(corners[:, 1], corners[:, 3], pooled_shape[0], x.shape[2])
    columns = Bins.of(corners[:, 0], corners[:, 2], pooled_shape[1], x.shape[3])
    claim(call, (len(rois), pooled_shape[0], x.shape[3], x.shape[1]), x.dtype, "what MaxRoiPool reads")
    claim(call, (len(rois), x.shape[1], *pooled_shape), x.dtype, "MaxRoiPool result")
    top = rows.tallest(np.moveaxis(x, 1, 3), images)  # [R, bins, W, C]
    top = columns.tallest(top.swapaxes(1, 2), np.arange(len(rois)))  # [R, bins across, bins down, C]
    empty = columns.empty[:, :, None, None] | rows.empty[:, None, :, None]
    return np.ascontiguousarray(np.where(empty, 0, top).transpose(0, 3, 2, 1))


@dataclass(frozen=True, slots=True)
class Bins:
    """The bins of each region along one axis."""

    start: Array  # [R, bins] int64
    stop: Array  # [R, bins] int64, one behind the last pixel

    @classmethod
    def of(cls, first: Array, last: Array, count: int, size: int) -> Bins:
        """`count` bins of each region of pixels `first` to `last`, cut at an image of `size`."""
        width = np.maximum(last - first + 1, 1)[:, None]
        step = np.arange(count)
        start = first[:, None] + step * width // count
        stop = first[:, None] - (-(step + 1) * width // count)
        return cls(np.clip(start, 0, size), np.clip(stop, 0, size))

    @property
    def empty(self) -> Array:
        return self.stop <= self.start

    def tallest(self, x: Array, items: Array) -> Array:
        """The greatest elements of x [items, size, ...] in the bins of each region, which lies in one of `items`."""
        top = np.full((*self.start.shape, *x.shape[2:]), -np.inf, x.dtype)
        if x.shape[1] == 0:
            return top
        for step in range(int((self.stop - self.start).max(initial=0))):
            place = np.clip(self.start + step, 0, np.maximum(self.stop - 1, 0))
            np.maximum(top, x[items[:, None], place], out=top)
        return top


def away_from_zero(values: Array) -> Array:
    """The nearest whole numbers, halves away from zero, as int64."""
    return np.trunc(values + np.copysign(values.dtype.type(0.5), values)).astype(np.int64)

"""RoiAlign of float32 and float64 images, channels last.

A run bails out for regions that are not finite, of images that do not exist, or with thousands of points in a bin.
"""

from __future__ import annotations

from sardonyx._src.compile.kernels.sampling.roi_align import RoiAlignment, roi_align_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import CHANNELS_LAST, Step
from sardonyx._src.dtypes import DataType

MODES = ("avg", "max")
COORDINATES = ("half_pixel", "output_half_pixel")
MAX_SAMPLING_RATIO = 64


@matches("RoiAlign", 22)
def match_roi_align(op: BoundNode, scope: Scope) -> Region[RoiAlignment] | None:
    x, rois, images = op.input(0), op.input(1), op.input(2)
    if x is None or rois is None or images is None or not all(map(scope.is_native, (x, rois, images))):
        return None
    dtype = scope.dtype(x)
    if dtype not in (DataType.FLOAT, DataType.DOUBLE) or scope.dtype(rois) is not dtype:
        return None
    shapes = [scope.known_shape(value) for value in (x, rois, images)]
    if [len(shape) for shape in shapes] != [4, 2, 1]:
        return None
    height, width = op.attribute("output_height", int), op.attribute("output_width", int)
    coordinates = op.attribute("coordinate_transformation_mode", str)
    ratio, mode = op.attribute("sampling_ratio", int), op.attribute("mode", str)
    is_known = mode in MODES and coordinates in COORDINATES and min(height, width) >= 1
    if not is_known or not 0 <= ratio <= MAX_SAMPLING_RATIO:
        return None
    if scope.shape(op.output) is None:
        return None
    config = RoiAlignment(
        mode == "avg", coordinates == "half_pixel", ratio, op.attribute("spatial_scale", float)
    )
    reads = (Read(x, CHANNELS_LAST), Read(rois), Read(images))
    return Region("RoiAlign", (op.node,), config, reads, (Write(op.output, CHANNELS_LAST),))


@lowers("RoiAlign")
def lower_roi_align(region: LaidOutRegion[RoiAlignment], lowering: Lowering) -> Step:
    (x, rois, images), (y,) = region.operands, region.results
    return roi_align_step(x, rois, images, y, lowering.status, region.config)

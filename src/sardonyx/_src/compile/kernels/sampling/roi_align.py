"""RoiAlign of channels-last images: the mean or maximum of points between pixels, over the bins of each region.

Loop nest: units of work (rows of bins) -> bins -> points of a bin -> vectors of channels, accumulated in the result.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, Parameters, Target, float32_bits
from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.channels_last.images import nan_propagating_max, pixel_stride
from sardonyx._src.compile.kernels.loops.memory import load_at
from sardonyx._src.compile.kernels.loops.vectors import i64, load_typed, loop_vectors, store_vector
from sardonyx._src.compile.kernels.sampling.bilinear import (
    Neighbor,
    SampledImage,
    corners,
    loop_weighted_pixels,
    neighbors,
)
from sardonyx._src.compile.program import Kernel, Step, TensorView
from sardonyx._src.dataclass import dataclass

# The maximum number of points of a bin along an axis, if the size of the region determines it.  Regions with more points are
# left to the reference kernel, which limits their memory.
MAX_POINTS = 1 << 12
CORNERS = 4
PARAMETERS = Parameters(
    "x", "rois", "images", "y", "status", "batch", "channels", "height", "width", "x_pixel_stride", "y_pixel_stride",
    "out_height", "out_width", "points", "scale",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RoiAlignment:
    """The attributes.

    is_mean: whether a bin is the mean of its points, not the maximum.
    half_pixel: whether pixel centers are at half-integral coordinates.
    points: the number of points of a bin along an axis; 0: as many as the bin has pixels.
    scale: the factor from coordinates of regions to pixels.
    """

    is_mean: bool
    half_pixel: bool
    points: int
    scale: float

    @property
    def key(self) -> str:
        """The part of the kernel's key."""
        return f"{'mean' if self.is_mean else 'max'}{'_half' if self.half_pixel else ''}{'' if self.points else '_free'}"


def roi_align_step(
    x: TensorView,
    rois: TensorView,
    images: TensorView,
    y: TensorView,
    status: TensorView,
    config: RoiAlignment,
) -> Step:
    """The step of y [R, height, width, C] from x [N, H, W, C], channels last.

    rois: the regions [R, 4] as x1, y1, x2, y2.
    images: [R] int64, the image of each region.
    A region is reported in `status` if it is not finite, if its image does not exist, or if it has too many points.
    """
    batch, height, width, channels = x.shape
    element = LLVM_ELEMENTS[x.dtype]
    source = partial(roi_align_module, element=LLVMType(element), config=config)
    points = config.points or 2
    return Step(
        Kernel(f"roi_align:{element}:{config.key}", source, PARAMETERS),
        PARAMETERS.pack(
            x=x, rois=rois, images=images, y=y, status=status, batch=batch, channels=channels, height=height, width=width,
            x_pixel_stride=pixel_stride(x), y_pixel_stride=pixel_stride(y), out_height=y.shape[1], out_width=y.shape[2],
            points=config.points, scale=float32_bits(config.scale),
        ),
        y.shape[0] * y.shape[1],
        (x, rois, images),
        (y, status),
        flops=y.num_elements * (2 * CORNERS * points * points),
        bytes_accessed=x.nbytes + y.nbytes,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RegionAxis:
    """A region along one axis: its start, the width of a bin, and the number of points in a bin."""

    start: LLVMValue
    bin: LLVMValue
    count: LLVMValue


def roi_align_module(name: str, target: Target, element: LLVMType, config: RoiAlignment) -> str:
    b = KernelBuilder(target, PARAMETERS)
    x, rois, images, y, status = b.pointers("x", "rois", "images", "y", "status")
    batch, channels, height, width, x_stride, y_stride = b.integers(
        "batch", "channels", "height", "width", "x_pixel_stride", "y_pixel_stride"
    )
    out_height, out_width, points = b.integers("out_height", "out_width", "points")
    scale = b.float32("scale")
    if element.element == "double":
        scale = scale.convert("fpext", "double")
    with b.loop(b.first_unit, b.end_unit, name="row") as unit:
        region, row = b.udivmod(unit, out_height)
        image = load_at(b, images, region, "i64")
        across, down = (
            region_axis(b, rois, region, axis, scale, bins, points, config)
            for axis, bins in enumerate((out_width, out_height))
        )
        is_valid = (image >= 0) & (image < batch) & is_usable(b, across) & is_usable(b, down)
        with b.if_then(is_valid.eq(0)):
            b.lines.append(f" atomicrmw max ptr {status}, i64 1 monotonic, align 8")
        with b.if_then(is_valid):
            address = b.gep(x, image * height * width * x_stride, element.element)
            source = SampledImage(address, height, width, x_stride, element)
            with b.loop(i64(b, 0), out_width, name="bin") as column:
                result = b.gep(y, (unit * out_width + column) * y_stride, element.element)
                pool_bin(b, source, (down, across), (row, column), result, channels, config)
    return b.build_module(name)


def region_axis(
    b: KernelBuilder,
    rois: str,
    region: LLVMValue,
    axis: int,
    scale: LLVMValue,
    bins: LLVMValue,
    points: LLVMValue,
    config: RoiAlignment,
) -> RegionAxis:
    """A region along an axis; axis: 0 along the width, 1 along the height; bins: the number of bins along the axis."""
    element = scale.type
    start, end = (load_at(b, rois, region * 4 + axis + side, element.element) * scale for side in (0, 2))
    width = end - start
    if config.half_pixel:
        start = start - 0.5
    else:
        width = b.select(width < 1, b.constant(1, element), width)
    size = width / bins.convert("sitofp", element.element)
    if config.points:
        return RegionAxis(start, size, points)
    count = b.call_intrinsic("ceil", size)
    is_countable = (count >= 0) & (count <= MAX_POINTS)
    count = b.select(
        is_countable, count, b.select(count < 0, b.constant(0, element), b.constant(-1, element))
    )
    return RegionAxis(start, size, count.convert("fptosi", "i64"))


def is_usable(b: KernelBuilder, axis: RegionAxis) -> LLVMValue:
    """Whether a region is finite and does not have too many points."""
    difference = axis.start - axis.start
    extent = axis.bin - axis.bin
    return difference.eq(0) & extent.eq(0) & (axis.count >= 0)


def pool_bin(
    b: KernelBuilder,
    image: SampledImage,
    axes: tuple[RegionAxis, RegionAxis],
    bin_: tuple[LLVMValue, LLVMValue],
    result: str,
    channels: LLVMValue,
    config: RoiAlignment,
) -> None:
    """Writes the channels of a bin; axes: the region along the height and the width; bin_: the row and column of the bin."""
    element = image.element
    vector = LLVMType(element.element, b.target.lanes)
    count = axes[0].count * axes[1].count
    identity = b.constant(0 if config.is_mean else float("-inf"), vector)
    for channel, mask in loop_vectors(b, 0, channels):
        store_vector(b, identity, b.gep(result, channel, element.element), mask)
    with b.loop(i64(b, 0), axes[0].count, name="point_row") as i:
        rows = border_neighbors(b, point(b, axes[0], bin_[0], i), image.height)
        with b.loop(i64(b, 0), axes[1].count, name="point") as j:
            columns = border_neighbors(b, point(b, axes[1], bin_[1], j), image.width)
            pixels = list(corners(image, rows, columns))
            for channel, mask, terms in loop_weighted_pixels(b, image, pixels, channels):
                memory = b.gep(result, channel, element.element)
                total = load_typed(b, vector, memory, mask)
                for term in terms:
                    total = total + term if config.is_mean else nan_propagating_max(b, term, total)
                store_vector(b, total, memory, mask)
    is_empty = count.eq(0)
    divisor = b.select(is_empty, i64(b, 1), count).convert("sitofp", element.element)
    for channel, mask in loop_vectors(b, 0, channels):
        memory = b.gep(result, channel, element.element)
        total = load_typed(b, vector, memory, mask)
        if config.is_mean:
            total = total / b.splat(divisor, b.target.lanes)
        else:
            total = b.select(b.splat(is_empty, b.target.lanes), b.constant(0, vector), total)
        store_vector(b, total, memory, mask)


def point(b: KernelBuilder, axis: RegionAxis, bin_: LLVMValue, number: LLVMValue) -> LLVMValue:
    """The position of a point of a bin, in pixels."""
    center = (bin_ * axis.count + number).convert("sitofp", "double") + 0.5
    share = center / axis.count.convert("sitofp", "double")
    if axis.bin.type.element == "float":
        share = share.convert("fptrunc", "float")
    return axis.start + axis.bin * share


def border_neighbors(b: KernelBuilder, position: LLVMValue, size: LLVMValue) -> list[Neighbor]:
    """The two pixels around a position, which is clamped to the image; neither counts as inside if it is over a pixel outside."""
    end = size.convert("sitofp", position.type.element)
    is_near = (position >= -1) & (position <= end)
    clamped = b.select(position < 0, b.constant(0, position.type), position)
    clamped = b.select(clamped > end - 1, end - 1, clamped)
    return [
        Neighbor(pixel.index, pixel.is_inside & is_near, pixel.weight)
        for pixel in neighbors(b, clamped, size)
    ]

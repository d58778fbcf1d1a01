"""DeformConv of float32 images: a step interpolates the pixels of all windows as columns, which are multiplied by the weights.

Falls back to the reference kernel unless there are two spatial dims and the number of channels is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing.panels import pack_tensor
from sardonyx._src.compile.kernels.sampling.deform_columns import deform_columns_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.partition.operands.window_geometry import image_window
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import CHANNELS_LAST, Step, TensorView, Window
from sardonyx._src.compile.program.operands.layout import ChannelsLast
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class DeformConvolution:
    """A deformable convolution that reads the image, the weights, the offsets, then the bias and the mask, if there are any."""

    window: Window
    groups: int
    offset_groups: int
    has_bias: bool
    has_mask: bool


@matches("DeformConv", 22)
def match_deform_conv(op: BoundNode, scope: Scope) -> Region[DeformConvolution] | None:
    x, w, offsets, bias, mask = (op.input(i) for i in range(5))
    values = [value for value in (x, w, offsets, bias, mask) if value is not None]
    if x is None or w is None or offsets is None or not all(map(scope.is_native, values)):
        return None
    if any(scope.dtype(value) is not DataType.FLOAT for value in values) or scope.shape(op.output) is None:
        return None
    window = deformable_window(op, scope.known_shape(x), scope.known_shape(w))
    if window is None:
        return None
    images, rows, *out = scope.known_shape(op.output)
    groups, offset_groups = op.attribute("group", int), op.attribute("offset_group", int)
    points = offset_groups * window.num_taps
    expected = [(scope.known_shape(offsets), (images, 2 * points, *out))]
    expected += [] if mask is None else [(scope.known_shape(mask), (images, points, *out))]
    expected += [] if bias is None else [(scope.known_shape(bias), (rows,))]
    if not all(are_equal(scope, *pair) for pair in expected):
        return None
    config = DeformConvolution(window, groups, offset_groups, bias is not None, mask is not None)
    reads = (Read(x, CHANNELS_LAST), Read(w, ChannelsLast(is_dense=True)), *map(Read, values[2:]))
    return Region("DeformConv", (op.node,), config, reads, (Write(op.output, CHANNELS_LAST),))


def are_equal(scope: Scope, shape: tuple[Known, ...], expected: tuple[Known, ...]) -> bool:
    return len(shape) == len(expected) and all(
        scope.guard_required_equal(*pair) for pair in zip(shape, expected, strict=True)
    )


def deformable_window(op: BoundNode, x: tuple[Known, ...], w: tuple[Known, ...]) -> Window | None:
    """The windows over images [N, C, H, W] with weights [M, C / groups, *kernel]; None if they are not supported."""
    groups, offset_groups = op.attribute("group", int), op.attribute("offset_group", int)
    if len(x) != 4 or len(w) != 4 or min(groups, offset_groups) < 1:
        return None
    channels, kernel = x[1], w[2:]
    if not all(isinstance(dim, int) for dim in (channels, *w)) or not isinstance(channels, int):
        return None
    sizes = tuple(dim for dim in kernel if isinstance(dim, int))
    rows = w[0]
    if channels % groups or channels % offset_groups or w[1] != channels // groups or channels == 0:
        return None
    if not isinstance(rows, int) or rows % groups or op.ints("kernel_shape") not in (None, sizes):
        return None
    return image_window(op, x[2:], sizes)


@lowers("DeformConv")
def lower_deform_conv(region: LaidOutRegion[DeformConvolution], lowering: Lowering) -> Sequence[Step]:
    config, (x, w, offsets, *rest), (y,) = region.config, region.operands, region.results
    window, others = config.window, iter(rest)
    bias = next(others) if config.has_bias else None
    mask = next(others) if config.has_mask else None
    rows, *_, inner = w.shape
    assert isinstance(rows, int) and isinstance(inner, int), "the matcher has checked the weights"
    groups, length = config.groups, window.num_taps * inner
    images, out_height, out_width, _ = y.shape
    name = region.region.anchor.outputs[0].name
    dims = (images, groups, out_height, out_width, window.num_taps, inner)
    columns = lowering.temporary(DataType.FLOAT, dims, f"{name}/columns")
    points = out_height * out_width
    weights = w.reshape((groups, rows // groups, length))
    panels, packing = pack_tensor(
        replace(
            weights, shape=(groups, length, rows // groups), strides=(rows // groups * length, 1, length)
        ),
        lowering.target,
        f"{name}/weights",
    )
    return (
        deform_columns_step(x, offsets, mask, columns, window, config.offset_groups),
        *packing,
        *matmul_steps(columns.reshape((images, groups, points, length)), panels, group_view(y, groups)),
        *(
            ()
            if bias is None
            else (elementwise_step(Apply("add", (Local("i0"), Local("i1"))), (y, bias), y),)
        ),
    )


def group_view(y: TensorView, groups: int) -> TensorView:
    """A result [N, H, W, M] as [N, groups, H * W, M / groups]."""
    images, height, width, rows = y.shape
    stride = y.row_stride
    assert stride is not None and isinstance(rows, int), "the matcher has checked the result"
    shape = (images, groups, height * width, rows // groups)
    return replace(y, shape=shape, strides=(height * width * stride, rows // groups, stride, 1))

"""The choice of Resize nodes that are resampled axis by axis: those without a kernel for images, or with few channels."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.kernels.resize.resample_axis import ResampleTable, plan_axes
from sardonyx._src.compile.kernels.resize.resize import constant_tables
from sardonyx._src.compile.kernels.tuning import ResizeTuning
from sardonyx._src.ir.dims import Known
from sardonyx._src.ops.image.resize.resample import ResampleMode
from sardonyx._src.ops.image.resize.resampled_axis import ResampledAxis
from sardonyx._src.ops.image.resize.resize import identity_axis


def plan_resampling(
    axes: Sequence[ResampledAxis | None], channels: Known, mode: ResampleMode
) -> tuple[ResampleTable, ...] | None:
    """The taps of the axes, if steps resample one axis after the other (`resample_axis`); None otherwise.

    axes: an entry for each axis, None for an axis that is not resampled.
    channels: the size of the second axis.
    """
    is_narrow = isinstance(channels, int) and channels <= ResizeTuning.max_axis_channels
    return plan_axes(axes, mode) if is_narrow or not has_image_kernel(axes, mode) else None


def has_image_kernel(axes: Sequence[ResampledAxis | None], mode: ResampleMode) -> bool:
    """Whether the kernel for images (`resize`) can resample the axes: only height and width are resampled."""
    if len(axes) not in (3, 4) or not all(axis is None or axis.is_identity for axis in axes[:2]):
        return False
    height, width = (axis or identity_axis(1) for axis in (None, *axes[2:])[-2:])
    return constant_tables(mode, height, width) is not None

"""The sliding window of a convolution or pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known

IMAGE_ARGUMENTS = (
    "kernel_height", "kernel_width", "stride_y", "stride_x", "dilation_y", "dilation_x", "top", "left",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Window:
    """A window by spatial axis: every field has one entry for each axis.  The defaults are those of two axes.

    kernel: the number of taps.
    strides, dilations: the distance of neighboring windows, and of neighboring taps.
    begin_pads, end_pads: the padding before the first element and after the last one, which may depend on symbolic sizes.
        Kernels that take the number of windows from their result do not read `end_pads`.
    """

    kernel: tuple[int, ...] = (1, 1)
    strides: tuple[int, ...] = (1, 1)
    dilations: tuple[int, ...] = (1, 1)
    begin_pads: tuple[Known, ...] = (0, 0)
    end_pads: tuple[Known, ...] = (0, 0)

    @property
    def rank(self) -> int:
        return len(self.kernel)

    @property
    def num_taps(self) -> int:
        return math.prod(self.kernel)

    @property
    def spans(self) -> tuple[int, ...]:
        """The distance from the first to the last tap, plus 1."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    @property
    def is_pointwise(self) -> bool:
        """Whether it has one tap, strides of 1 and no padding before the first element."""
        ones, zeros = (1,) * self.rank, (0,) * self.rank
        return self.kernel == self.strides == ones and self.begin_pads == zeros

    @property
    def is_unit_3x3(self) -> bool:
        """Whether the window is 3 by 3 with unit strides and dilations, as Winograd convolution requires."""
        return self.kernel == (3, 3) and self.strides == self.dilations == (1, 1)

    @property
    def image_arguments(self) -> dict[str, Known]:
        """The arguments `IMAGE_ARGUMENTS` of a kernel, by name, for a window over two axes."""
        numbers = (*self.kernel, *self.strides, *self.dilations, *self.begin_pads)
        return dict(zip(IMAGE_ARGUMENTS, numbers, strict=True))

    def as_image(self) -> Window:
        """A window over one axis as one over two, of which the first has one element; any other window unchanged."""
        if self.rank != 1:
            return self
        return Window(
            (1, *self.kernel),
            (1, *self.strides),
            (1, *self.dilations),
            (0, *self.begin_pads),
            (0, *self.end_pads),
        )


def window_of_attributes(
    kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], pads: Sequence[Known]
) -> Window:
    """The window of attributes of ONNX; pads: those before all axes, then those after them."""
    rank = len(kernel)
    return Window(tuple(kernel), tuple(strides), tuple(dilations), tuple(pads[:rank]), tuple(pads[rank:]))

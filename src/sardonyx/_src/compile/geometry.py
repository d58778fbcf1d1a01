"""Windows of convolutions and pools as numbers: kernel, strides, dilations, pads of two spatial dims."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import Known

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Geometry:
    """pads: top, left, bottom, right."""

    kernel: Pair
    strides: Pair
    dilations: Pair
    pads: tuple[int, int, int, int]

    @property
    def is_plain_3x3(self) -> bool:
        """Whether it is a window of three by three, pixels side by side."""
        return self.kernel == (3, 3) and self.strides == self.dilations == (1, 1)


def geometry(call: Call, sizes: tuple[Known, ...], kernel: tuple[int, ...]) -> Geometry | None:
    """The windows of a node over spatial dims of these sizes; one dim is the second of two.

    None for more than two dims, for negative pads, and where pads depend on sizes that are not known.
    """
    count = len(sizes)
    if count not in (1, 2) or len(kernel) != count:
        return None
    strides = call.ints("strides") or (1,) * count
    dilations = call.ints("dilations") or (1,) * count
    pads = padding(call, sizes, kernel, strides, dilations)
    if pads is None or min((*pads, 0)) < 0 or min((*strides, *dilations, *kernel)) < 1:
        return None
    if count == 1:
        kernel, strides, dilations = (1, *kernel), (1, *strides), (1, *dilations)
        pads = (0, pads[0], 0, pads[1])
    a, b, c, d = pads
    return Geometry(pair(kernel), pair(strides), pair(dilations), (a, b, c, d))


def pair(numbers: tuple[int, ...]) -> Pair:
    a, b = numbers
    return a, b


def padding(
    call: Call,
    sizes: tuple[Known, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
) -> tuple[int, ...] | None:
    """The pads in front of each dim, then behind each."""
    how = call.attributes.get("auto_pad", "NOTSET")
    if how in ("NOTSET", ""):
        return call.ints("pads") or (0,) * (2 * len(sizes))
    if how == "VALID":
        return (0,) * (2 * len(sizes))
    before, after = [], []
    for size, k, s, d in zip(sizes, kernel, strides, dilations, strict=True):
        if not isinstance(size, int):
            return None
        total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
        less = total // 2 if how == "SAME_UPPER" else total - total // 2
        before.append(less)
        after.append(total - less)
    return (*before, *after)


def image(tensor: Tensor) -> Tensor:
    """A tensor [N, W, C] as [N, 1, W, C]; others as they are."""
    if tensor.rank != 3:
        return tensor
    shape, strides = tensor.shape, tensor.strides
    return replace(
        tensor,
        shape=(shape[0], 1, *shape[1:]),
        strides=(strides[0], shape[1] * strides[1], *strides[1:]),
    )

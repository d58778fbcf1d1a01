"""Conv over three spatial dims as convolutions over two.

Where the windows of two neighboring dims have one element, these dims are merged into one, without a copy.  Otherwise
the result is a sum of convolutions, one for each tap (window position) of the first dim.  The slices along that dim
become a part of the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value
from sardonyx._src.ops.support.body_text import vector
from sardonyx._src.rewrite.engine.edit import Edit

INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class VolumeWindow:
    """Kernel, strides and dilations of the three dims.

    pads: the pads before each dim, then after each dim.
    depth: the size of the image's first spatial dim; None if it is not known.
    """

    depth: int | None
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]

    @property
    def reach(self) -> int:
        """The distance from the first to the last slice that a slice of the result is computed from."""
        return (self.kernel[0] - 1) * self.dilations[0]

    @property
    def has_slices(self) -> bool:
        """Whether the result has slices; true for an image of unknown depth, which is guarded."""
        return self.depth is None or self.depth + self.pads[0] + self.pads[3] > self.reach

    @property
    def is_deep(self) -> bool:
        """Whether a window is known to fit into every padded image."""
        return self.depth is not None or self.pads[0] + self.pads[3] >= self.reach

    def is_pointwise(self, dim: int) -> bool:
        """Whether the window has one element along a dim, and the result the size of the image."""
        pads = self.pads[dim], self.pads[dim + 3]
        return self.kernel[dim] == self.strides[dim] == 1 and pads == (0, 0)


def decompose(node: Node, edit: Edit) -> bool:
    window = window_of(node, edit)
    if window is None:
        return False
    has_bias = len(node.inputs) == 3 and node.inputs[2] is not None
    group = edit.attributes(node)["group"]
    emit = sliced_lines
    if window.is_pointwise(1) and (window.is_pointwise(0) or window.is_pointwise(2)):
        emit = merged_lines
    inline_text(node, edit, "\n".join(emit(window, f"group = {group}", has_bias=has_bias)))
    return True


def window_of(node: Node, edit: Edit) -> VolumeWindow | None:
    """The window of a convolution over three dims with constant float32 weights; None for any other node."""
    if edit.operator_of(node) is None:
        return None
    x, weights = edit.type(node.inputs[0]), edit.type(node.inputs[1])
    if x is None or weights is None or x.shape is None or x.dtype is not DataType.FLOAT or len(x.shape) != 5:
        return None
    depth, kernel, attributes = (
        x.shape[2],
        numbers(weights.shape[2:] if weights.shape else ()),
        edit.attributes(node),
    )
    if kernel is None or len(kernel) != 3 or not is_constant(node.inputs[1:], edit):
        return None
    if attributes.get("auto_pad", "NOTSET") != "NOTSET":
        return None
    strides, dilations, pads = (attributes.get(name) for name in ("strides", "dilations", "pads"))
    window = VolumeWindow(
        depth if isinstance(depth, int) else None,
        kernel,
        as_ints(strides) or (1,) * 3,
        as_ints(dilations) or (1,) * 3,
        as_ints(pads) or (0,) * 6,
    )
    is_valid = min(*window.pads, 0) == 0 and window.has_slices and min(*kernel, *window.strides) > 0
    return window if is_valid else None


def is_constant(values: Sequence[Value | None], edit: Edit) -> bool:
    return all(value is None or edit.tensor(value) is not None for value in values)


def numbers(dims: Sequence[object]) -> tuple[int, ...] | None:
    sizes = tuple(dim for dim in dims if isinstance(dim, int))
    return sizes if len(sizes) == len(dims) else None


def as_ints(values: object) -> tuple[int, ...] | None:
    return tuple(values) if isinstance(values, list | tuple) else None


def merged_lines(window: VolumeWindow, group: str, *, has_bias: bool) -> Iterator[str]:
    """The function that merges the second dim and a neighbor of it, and convolves over two dims."""
    first = 1 if window.is_pointwise(2) else 0  # the first of the merged dims
    kept = 0 if first else 2
    sizes = {"strides": window.strides, "dilations": window.dilations}
    flat = {name: ordered(values[kept], 1, kept) for name, values in sizes.items()}
    flat["pads"] = ordered(window.pads[kept], 0, kept) + ordered(window.pads[kept + 3], 0, kept)
    attributes = ", ".join([group, *(f"{name} = {values}" for name, values in flat.items())])
    bias = ", b" if has_bias else ""
    yield f"(x, w{bias}) => (y) {{"
    yield f"outer = Shape <end = {first + 2}> (x)  pair = Shape <start = {first + 2}, end = {first + 4}> (x)"
    yield f"inner = Shape <start = {first + 4}> (x)"
    yield "merged = ReduceProd(pair)  dims = Concat <axis = 0> (outer, merged, inner)"
    yield f"weight_dims = {vector([0, 0, *ordered(window.kernel[kept], 1, kept)])}  weights = Reshape(w, weight_dims)"
    yield f"image = Reshape <allowzero = 1> (x, dims)  conv = Conv <{attributes}> (image, weights{bias})"
    yield f"before = Shape <end = {first + 2}> (conv)  after = Shape <start = {first + 3}> (conv)"
    yield "result_dims = Concat <axis = 0> (before, pair, after)  y = Reshape <allowzero = 1> (conv, result_dims)  }"


def ordered(kept: int, merged: int, dim: int) -> list[int]:
    """The numbers for the dim that stays, number `dim` of the three, and for the merged dim, in the order of the dims."""
    return [merged, kept] if dim else [kept, merged]


def sliced_lines(window: VolumeWindow, group: str, *, has_bias: bool) -> Iterator[str]:
    """The function that adds convolutions over two dims, one for each tap of the first dim."""
    flat = [
        f"{name} = {list(values[1:])}"
        for name, values in (("strides", window.strides), ("dilations", window.dilations))
    ]
    attributes = ", ".join([group, *flat, f"pads = {[*window.pads[1:3], *window.pads[4:]]}"])
    yield f"(x, w{', b' if has_bias else ''}) => (y) {{"
    yield f"pads = {vector([window.pads[0], window.pads[3]])}  axis = {vector([2])}  depth = {vector([1])}"
    yield "no_value = Constant <value = float {0}> ()  padded = Pad(x, pads, no_value, axis)"
    yield "sliced = Transpose <perm = [0, 2, 1, 3, 4]> (padded)"
    yield f"step = {vector([window.strides[0]])}  batch = Shape <end = 1> (x)"
    if not window.is_deep:  # unlike a Slice, a Pad requires that it removes no more slices than there are
        yield f"removed = {vector([0, -window.reach])}  checked = Pad(sliced, removed, no_value, depth)"
    total = ""
    for tap in range(window.kernel[0]):
        first = tap * window.dilations[0]
        end = first - window.reach if first < window.reach and (tap or window.is_deep) else INT64_MAX
        yield f"first{tap} = {vector([first])}  end{tap} = {vector([end])}"
        source = "sliced" if tap or window.is_deep else "checked"
        yield f"part{tap} = Slice({source}, first{tap}, end{tap}, depth, step)"
        if not tap:
            yield "slices = Shape <start = 1, end = 2> (part0)  count = Mul(batch, slices)"
            yield "image = Shape <start = 2> (sliced)  dims = Concat <axis = 0> (count, image)"
        yield f"images{tap} = Reshape <allowzero = 1> (part{tap}, dims)  which{tap} = Constant <value = int64 {{{tap}}}> ()"
        yield f"weights{tap} = Gather <axis = 2> (w, which{tap})"
        bias = ", b" if has_bias and not tap else ""
        yield f"conv{tap} = Conv <{attributes}> (images{tap}, weights{tap}{bias})"
        if total:
            yield f"total{tap} = Add(conv{tap}, {total})"
        total = f"total{tap}" if total else f"conv{tap}"
    yield f"features = Shape <start = 1> ({total})  result_dims = Concat <axis = 0> (batch, slices, features)"
    yield f"stacked = Reshape <allowzero = 1> ({total}, result_dims)"
    yield "y = Transpose <perm = [0, 2, 1, 3, 4]> (stacked)  }"

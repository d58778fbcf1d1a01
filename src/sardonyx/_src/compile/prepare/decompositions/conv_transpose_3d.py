"""ConvTranspose over three spatial dims as a sum of ConvTransposes over two, one for each tap (window position) of the first dim.

The slices of the image along that dim become a part of the batch.  Zeros between the results spread them by
the stride.
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.compile.prepare.decompositions.conv_3d import VolumeWindow, as_ints, numbers
from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.ops.support.body_text import vector
from sardonyx._src.rewrite.engine.edit import Edit


def decompose(node: Node, edit: Edit) -> bool:
    window = window_of(node, edit)
    if window is None:
        return False
    attributes = edit.attributes(node)
    padding = as_ints(attributes.get("output_padding")) or (0,) * 3
    has_bias = len(node.inputs) == 3 and node.inputs[2] is not None
    lines = function_lines(window, padding, f"group = {attributes['group']}", has_bias=has_bias)
    inline_text(node, edit, "\n".join(lines))
    return True


def window_of(node: Node, edit: Edit) -> VolumeWindow | None:
    """The window of a transposed convolution over three dims in float32; None for any other node."""
    if edit.operator_of(node) is None:
        return None
    x, weights = edit.type(node.inputs[0]), edit.type(node.inputs[1])
    if x is None or weights is None or x.dtype is not DataType.FLOAT or weights.dtype is not DataType.FLOAT:
        return None
    shape, kernel, attributes = x.shape or (), numbers((weights.shape or ())[2:]), edit.attributes(node)
    if len(shape) != 5 or shape[2] is None or kernel is None or len(kernel) != 3:
        return None
    if attributes.get("auto_pad", "NOTSET") != "NOTSET" or attributes.get("output_shape"):
        return None
    strides, dilations, pads = (as_ints(attributes.get(name)) for name in ("strides", "dilations", "pads"))
    depth = shape[2] if isinstance(shape[2], int) else None
    window = VolumeWindow(depth, kernel, strides or (1,) * 3, dilations or (1,) * 3, pads or (0,) * 6)
    is_valid = min(window.pads) >= 0 and min(*kernel, *window.strides, *window.dilations) > 0 and depth != 0
    return window if is_valid else None


def function_lines(
    window: VolumeWindow, padding: tuple[int, ...], group: str, *, has_bias: bool
) -> Iterator[str]:
    """The lines of the function.

    padding: the elements that are added to the end of each dim of the result.
    """
    stride, dilation = window.strides[0], window.dilations[0]
    # Slices of the result beyond `stride` for each slice of the image.
    more = window.reach + 1 - stride + padding[0] - window.pads[0] - window.pads[3]
    flat = {"strides": window.strides[1:], "dilations": window.dilations[1:], "output_padding": padding[1:]}
    flat["pads"] = (*window.pads[1:3], *window.pads[4:])
    attributes = ", ".join([group, *(f"{name} = {list(values)}" for name, values in flat.items())])
    yield f"(x, w{', b' if has_bias else ''}) => (y) {{"
    yield "sliced = Transpose <perm = [0, 2, 1, 3, 4]> (x)  no_value = Constant <value = float {0}> ()"
    yield "batch = Shape <end = 1> (x)  depth = Shape <start = 2, end = 3> (x)  count = Mul(batch, depth)"
    yield "image = Shape <start = 2> (sliced)  dims = Concat <axis = 0> (count, image)  images = Reshape <allowzero = 1> (sliced, dims)"
    yield f"axis = {vector([1])}  inner = {vector([2])}  gap = {vector([0, stride - 1])}  stride = {vector([stride])}  spread = Mul(depth, stride)"
    total = ""
    for tap in range(window.kernel[0]):
        first = tap * dilation - window.pads[0]
        yield f"which{tap} = Constant <value = int64 {{{tap}}}> ()  weights{tap} = Gather <axis = 2> (w, which{tap})"
        yield f"part{tap} = ConvTranspose <{attributes}> (images, weights{tap})  features{tap} = Shape <start = 1> (part{tap})"
        yield f"dims{tap} = Concat <axis = 0> (batch, depth, features{tap})  stack{tap} = Reshape <allowzero = 1> (part{tap}, dims{tap})"
        stack = f"stack{tap}"
        if stride > 1:
            yield f"column{tap} = Unsqueeze(stack{tap}, inner)  gaps{tap} = Pad(column{tap}, gap, no_value, inner)"
            yield f"wide{tap} = Concat <axis = 0> (batch, spread, features{tap})  spread{tap} = Reshape <allowzero = 1> (gaps{tap}, wide{tap})"
            stack = f"spread{tap}"
        yield f"pads{tap} = {vector([first, more - first])}  placed{tap} = Pad({stack}, pads{tap}, no_value, axis)"
        if total:
            yield f"total{tap} = Add(placed{tap}, {total})"
        total = f"total{tap}" if total else f"placed{tap}"
    yield f"result = Transpose <perm = [0, 2, 1, 3, 4]> ({total})"
    if has_bias:
        yield f"column = {vector([-1, 1, 1, 1])}  biases = Reshape(b, column)  y = Add(result, biases)  }}"
    else:
        yield "y = Identity(result)  }"

"""Col2Im over three axes as two Col2Im nodes: one folds blocks along the last two axes, one along the first axis."""

from __future__ import annotations

import math

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.ir import Node, Value
from sardonyx._src.ops.support.body_text import vector
from sardonyx._src.rewrite.engine.edit import Edit

AXES = 3


def decompose(node: Node, edit: Edit) -> bool:
    shape = edit.shape(node.inputs[0])
    if edit.operator_of(node) is None or shape is None or len(shape) != 3:
        return False
    image, kernel = (known_sizes(edit, value) for value in node.inputs[1:3])
    if image is None or kernel is None or min(*image, *kernel) < 1:
        return False
    attributes, taps = edit.attributes(node), math.prod(kernel)

    def values(name: str, default: int, count: int) -> list[int]:
        given = attributes.get(name)
        return [int(n) for n in given] if isinstance(given, list | tuple) and given else [default] * count

    strides, dilations, pads = values("strides", 1, 3), values("dilations", 1, 3), values("pads", 0, 6)
    blocks = [
        (image[i] + pads[i] + pads[i + 3] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1
        for i in range(AXES)
    ]
    if min(blocks) < 1 or not isinstance(shape[1], int) or shape[1] % taps or shape[2] != math.prod(blocks):
        return False
    channels = shape[1] // taps
    inner = {
        "strides": strides[1:], "dilations": dilations[1:], "pads": [*pads[1:3], *pads[4:]],
    }  # fmt: skip
    outer = {"strides": [strides[0], 1], "dilations": [dilations[0], 1], "pads": [pads[0], 0, pads[3], 0]}
    inline_text(
        node,
        edit,
        f"""(x, image, block) => (y) {{
          {constant("split", [0, channels, *kernel, *blocks])}  split_blocks = Reshape(x, split)
          by_axis = Transpose <perm = [0, 1, 2, 5, 3, 4, 6, 7]> (split_blocks)
          {constant("flat", [0, shape[1] * blocks[0], math.prod(blocks[1:])])}  columns = Reshape(by_axis, flat)
          {constant("plane", image[1:])}  {constant("plane_kernel", kernel[1:])}
          folded = Col2Im <{attribute_text(inner)}> (columns, plane, plane_kernel)
          {constant("lines", [0, channels * kernel[0], blocks[0] * image[1] * image[2]])}  stacked = Reshape(folded, lines)
          {constant("volume", [image[0], image[1] * image[2]])}  {constant("line_kernel", [kernel[0], 1])}
          whole = Col2Im <{attribute_text(outer)}> (stacked, volume, line_kernel)
          {constant("dims", [0, channels, *image])}  y = Reshape(whole, dims)  }}""",
    )
    return True


def known_sizes(edit: Edit, value: Value | None) -> list[int] | None:
    """The elements of a vector with a size for each axis; None if they are not known."""
    elements = edit.constant(value)
    return None if elements is None or elements.shape != (AXES,) else [int(n) for n in elements]


def constant(name: str, sizes: list[int]) -> str:
    return f"{name} = {vector(sizes)}"


def attribute_text(attributes: dict[str, list[int]]) -> str:
    return ", ".join(f"{name} = {values}" for name, values in attributes.items())

"""MaxPool of dequantized bytes, and MaxPool over D, H and W: one over D, then one over H and W, for which there are kernels."""

from __future__ import annotations

from sardonyx._src.compile.prepare.decompositions import dequantized_max_pool
from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.edit import Edit

RANK = 5
# The attributes of a window, with the values that leave a dim as it is.
WINDOW = {"kernel_shape": 1, "strides": 1, "dilations": 1, "pads": 0}


def decompose(node: Node, edit: Edit) -> bool:
    return dequantized_max_pool.decompose(node, edit) or separate(node, edit)


def separate(node: Node, edit: Edit) -> bool:
    """Pools [N, C, D, H * W] along D, then [N, C * D', H, W] along H and W: a maximum of maxima."""
    if edit.operator_of(node) is None or edit.rank(node.inputs[0]) != RANK:
        return False
    if dequantized_max_pool.is_used(node.outputs[1:]):
        return False
    attributes = edit.attributes(node)
    given = {name: attributes.get(name) for name in WINDOW}
    window = {
        name: [int(n) for n in values] for name, values in given.items() if isinstance(values, list | tuple)
    }
    if any(len(values) != (6 if name == "pads" else 3) for name, values in window.items()):
        return False
    common = f'auto_pad = "{attributes["auto_pad"]}", ceil_mode = {attributes["ceil_mode"]}'
    depth = {name: [values[0], WINDOW[name]] for name, values in window.items()}
    planes = {name: values[1:] for name, values in window.items()}
    if pads := window.get("pads"):
        depth["pads"], planes["pads"] = [pads[0], 0, pads[3], 0], [*pads[1:3], *pads[4:]]
    inline_text(
        node,
        edit,
        f"""(x) => (y) {{
          outer = Shape <end = 3> (x)  plane = Shape <start = 3> (x)  plane_size = ReduceProd(plane)
          flat = Concat <axis = 0> (outer, plane_size)  volume = Reshape <allowzero = 1> (x, flat)
          slices = MaxPool <{common}, {attribute_text(depth)}> (volume)
          batch = Shape <end = 1> (slices)  stacked = Shape <start = 1, end = 3> (slices)  count = ReduceProd(stacked)
          dims = Concat <axis = 0> (batch, count, plane)  images = Reshape <allowzero = 1> (slices, dims)
          pooled = MaxPool <{common}, {attribute_text(planes)}> (images)  size = Shape <start = 2> (pooled)
          result = Concat <axis = 0> (batch, stacked, size)  y = Reshape <allowzero = 1> (pooled, result)  }}""",
    )
    return True


def attribute_text(window: dict[str, list[int]]) -> str:
    return ", ".join(f"{name} = {values}" for name, values in window.items())

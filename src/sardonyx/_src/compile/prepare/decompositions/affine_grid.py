"""AffineGrid of sizes that only a run knows, as sums of products of the maps and of the coordinates of points.

The sums are [coordinates, batch, *spatial], whose rows are long, and are transposed then.
Each axis is a Range, whose length a run counts.  Where the reference kernel refuses sizes, a Gather has an index out of range.
Known sizes are left to the body of the operator.
"""

from __future__ import annotations

from sardonyx._src.compile.prepare.decompositions import function_body
from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.ops.support.body_text import promoted_type, scalar, vector
from sardonyx._src.rewrite.engine.edit import Edit

FLOATS = (DataType.FLOAT, DataType.DOUBLE, DataType.FLOAT16, DataType.BFLOAT16)


def decompose(node: Node, edit: Edit) -> bool:
    if function_body.decompose(node, edit):
        return True
    theta, sizes = edit.type(node.inputs[0]), edit.shape(node.inputs[1])
    if edit.operator_of(node) is None or theta is None or theta.dtype not in FLOATS:
        return False
    if theta.shape is None or sizes not in ((4,), (5,)) or node.graph is not edit.model.graph:
        return False
    (count,) = sizes
    if not isinstance(count, int) or theta.shape[1:] != (count - 2, count - 1):
        return False
    corners = bool(edit.attributes(node)["align_corners"])
    inline_text(node, edit, function_text(count - 2, theta.dtype, corners=corners))
    return True


def function_text(axes: int, dtype: DataType, *, corners: bool) -> str:
    """The text of the function for points of `axes` coordinates."""
    wide = promoted_type(dtype)
    names = "zyx"[-axes:]
    lines = "".join(axis_text(name, i, axes, wide, corners=corners) for i, name in enumerate(names))
    terms = "".join(term_text(name, i, axes) for i, name in enumerate(reversed(names)))
    return f"""(theta, size) => (grid) {{
      zero = {scalar(0, DataType.INT64)}  one = {scalar(1, DataType.INT64)}  two = {scalar(2, DataType.INT64)}
      lowest = {scalar(-1, DataType.INT64)}  first = {vector([0])}  last = {vector([axes])}
      columns = {vector([2])}
      inner = {vector(range(2, axes + 2))}
      below = Min(size, zero)  sign = Max(below, lowest)  refused = Mul(sign, two)
      nothing = Gather(first, refused)  sizes = Add(size, nothing)
      batch_dim = Shape <end = 1> (theta)  batch = Squeeze(batch_dim)  items = Range(zero, batch, one)
      batch_size = Gather(sizes, zero)  counted = Range(zero, batch_size, one)
      no_more = Gather(items, counted)  no_fewer = Gather(no_more, items)
      maps = Gather <axis = 0> (theta, no_fewer)  wide = Cast <to = {int(wide)}> (maps)
      map = Transpose <perm = [1, 0, 2]> (wide)
      shifts = Gather <axis = 2> (map, last)  shift = Squeeze(shifts, columns)
      sum0 = Unsqueeze(shift, inner){lines}{terms}
      points = Transpose <perm = {[*range(1, axes + 2), 0]}> (sum{axes})
      grid = Cast <to = {int(dtype)}> (points) }}"""


def axis_text(name: str, i: int, axes: int, dtype: DataType, *, corners: bool) -> str:
    """The nodes of the coordinates (2 k + 1 - n) / n of the points k of n along spatial axis i, or / (n - 1) with corners."""
    others = [axis for axis in range(axes + 2) if axis != i + 2]
    parts = f"Sub({name}_count, one)" if corners else f"Identity({name}_count)"
    return f"""
      {name}_axis = {scalar(i + 2, DataType.INT64)}  {name}_count = Gather(sizes, {name}_axis)
      {name}_start = Sub(one, {name}_count)  {name}_places = Range({name}_start, {name}_count, two)
      {name}_parts = {parts}  {name}_divisor = Max({name}_parts, one)
      {name}_dividend = Cast <to = {int(dtype)}> ({name}_places)
      {name}_scale = Cast <to = {int(dtype)}> ({name}_divisor)
      {name}_line = Div({name}_dividend, {name}_scale)
      {name}_others = {vector(others)}  {name}_field = Unsqueeze({name}_line, {name}_others)"""


def term_text(name: str, i: int, axes: int) -> str:
    """The nodes that add the products of a coordinate and its column of the maps."""
    return f"""
      {name}_column = {vector([i])}  {name}_slopes = Gather <axis = 2> (map, {name}_column)
      {name}_slope = Squeeze({name}_slopes, columns)  {name}_factor = Unsqueeze({name}_slope, inner)
      {name}_term = Mul({name}_factor, {name}_field)  sum{i + 1} = Add(sum{i}, {name}_term)"""

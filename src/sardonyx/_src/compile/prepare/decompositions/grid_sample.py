"""GridSample as gathers of pixels and their weighted sum, in the modes that have no kernel.

Positions are computed in float64, as the reference kernel does, so that both engines choose the same pixels.  The
image is transposed to channels-last, so that a pixel is a contiguous row, which one Gather reads.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.ir.dims import Dim
from sardonyx._src.rewrite.engine.edit import Edit

DOUBLE, INT64, FLOAT = (dtype.value for dtype in (DataType.DOUBLE, DataType.INT64, DataType.FLOAT))
MODES = ("linear", "nearest", "cubic")
CUBIC_COEFFICIENT = -0.75


def decompose(node: Node, edit: Edit) -> bool:
    if edit.operator_of(node) is None:
        return False
    types, attributes = [edit.type(value) for value in node.inputs], edit.attributes(node)
    if any(t is None or t.dtype is not DataType.FLOAT or t.shape is None for t in types):
        return False
    rank, mode = (edit.rank(node.inputs[0]) or 0) - 2, attributes["mode"]
    grid = edit.shape(node.inputs[1])
    if rank < 1 or mode not in MODES or grid is None or grid[-1] != rank or len(grid) != rank + 2:
        return False
    shape = edit.shape(node.inputs[0])
    if shape is None or None in shape or shape[0] != grid[0] or 0 in shape[2:]:
        return False  # the reference kernel raises the error
    padding, corners, sizes = str(attributes["padding_mode"]), bool(attributes["align_corners"]), shape[2:]
    if rank == 2 and mode == "linear" and padding != "reflection":
        return False  # it has a kernel
    if padding == "reflection" and corners and not all(isinstance(n, int) for n in sizes):
        return False  # an image of one pixel has no period
    inline_text(node, edit, "\n".join(function_lines(sizes, str(mode), padding, corners=corners)))
    return True


def function_lines(sizes: Sequence[Dim], mode: str, padding: str, *, corners: bool) -> Iterator[str]:
    """The text of the function for an image of these sizes; the function computes open sizes itself."""
    rank = len(sizes)
    yield "(x, grid) => (y) {"
    yield f"zero = {number(0)}  one = {number(1)}  no_pixel = Constant <value = float {{0}}> ()"
    yield "last = Constant <value = int64[1] {2}> ()  half = Constant <value = double {2.0}> ()"
    yield "image_sizes = Shape <start = 2> (x)  pixels = ReduceProd <keepdims = 1> (image_sizes)"
    yield "image_dims = Shape <end = 2> (x)  flat_dims = Concat <axis = 0> (image_dims, pixels)"
    yield "flat = Reshape <allowzero = 1> (x, flat_dims)  rows = Transpose <perm = [0, 2, 1]> (flat)"
    yield "batch = Shape <end = 1> (x)  channels = Shape <start = 1, end = 2> (x)"
    yield "row_count = Mul(batch, pixels)  table_dims = Concat <axis = 0> (row_count, channels)"
    yield "table = Reshape <allowzero = 1> (rows, table_dims)"
    yield f"out_dims = Shape <start = 1, end = {rank + 1}> (grid)  points = ReduceProd <keepdims = 1> (out_dims)"
    yield f"coordinates = Constant <value = int64[1] {{{rank}}}> ()"
    yield "point_dims = Concat <axis = 0> (batch, points, coordinates)"
    yield f"wide = Cast <to = {DOUBLE}> (grid)  places = Reshape <allowzero = 1> (wide, point_dims)"
    yield "first_image = Constant <value = int64 {0}> ()  next_image = Constant <value = int64 {1}> ()"
    yield "no_axes = Constant <value = int64[0] {}> ()  image_count = Reshape(batch, no_axes)"
    yield "images = Range(first_image, image_count, next_image)  first_rows_flat = Mul(images, pixels)"
    yield "column = Constant <value = int64[1] {1}> ()  first_rows = Unsqueeze(first_rows_flat, column)"
    taps = []
    for axis, size in enumerate(sizes):
        yield f"which{axis} = Constant <value = int64 {{{rank - 1 - axis}}}> ()"
        yield f"at{axis} = Gather <axis = 2> (places, which{axis})"
        yield f"dim{axis} = Shape <start = {axis + 2}, end = {axis + 3}> (x)"
        yield f"length{axis} = Reshape(dim{axis}, no_axes)  size{axis} = Cast <to = {DOUBLE}> (length{axis})"
        yield f"end{axis} = Sub(size{axis}, one)"
        yield from position_lines(axis, corners=corners)
        bounds = (
            f"low{axis} = {number(-4)}  three{axis} = {number(3)}  high{axis} = Add(size{axis}, three{axis})"
        )
        if padding != "reflection":
            yield f"{bounds}  above{axis} = Max(p{axis}, low{axis})  q{axis} = Min(above{axis}, high{axis})"
        else:
            yield f"q{axis} = Identity(p{axis})"
        if mode == "cubic":
            yield from cubic_lines(axis, AxisPadding(axis, padding, corners=corners, is_single=size == 1))
            taps.append(4)
        else:
            yield from AxisPadding(axis, padding, corners=corners, is_single=size == 1).lines(
                f"q{axis}", f"r{axis}"
            )
            yield from nearest_lines(axis) if mode == "nearest" else linear_lines(axis)
            taps.append(1 if mode == "nearest" else 2)
    yield from sum_lines(taps, is_weighted=mode != "nearest")
    yield "turned = Transpose <perm = [0, 2, 1]> (total)  y_dims = Concat <axis = 0> (image_dims, out_dims)"
    yield "y = Reshape <allowzero = 1> (turned, y_dims)  }"


def number(value: float) -> str:
    return f"Constant <value = double {{{value!r}}}> ()"


def position_lines(axis: int, *, corners: bool) -> Iterator[str]:
    """Computes `p`, the pixel position of coordinates `at` in [-1, 1]."""
    yield f"moved{axis} = Add(at{axis}, one)"
    if corners:
        yield f"share{axis} = Div(moved{axis}, half)  p{axis} = Mul(share{axis}, end{axis})"
    else:
        yield f"scaled{axis} = Mul(moved{axis}, size{axis})  lowered{axis} = Sub(scaled{axis}, one)"
        yield f"p{axis} = Div(lowered{axis}, half)"


@dataclass(frozen=True, slots=True)
class AxisPadding:
    """The padding mode of an axis.

    corners: whether -1 and 1 are the centers of the corner pixels (`align_corners`).
    is_single: whether the axis has one pixel.
    """

    axis: int
    mode: str
    corners: bool
    is_single: bool

    def lines(self, source: str, target: str) -> Iterator[str]:
        """Computes `target`: positions clamped to the image, or reflected at its border; unchanged in mode "zeros"."""
        if self.mode == "zeros":
            yield f"{target} = Identity({source})"
            return
        inside = source
        if self.mode == "reflection":
            inside = f"{target}_inside"
            yield from self.reflection_lines(source, target, inside)
        yield f"{target}_raised = Max({inside}, zero)  {target} = Min({target}_raised, end{self.axis})"

    def reflection_lines(self, source: str, target: str, inside: str) -> Iterator[str]:
        length = f"{'end' if self.corners else 'size'}{self.axis}"
        yield f"{target}_low = {number(0.0 if self.corners else -0.5)}"
        if self.corners and self.is_single:
            yield f"{inside} = Mul({target}_low, {source})"
            return
        yield f"{target}_period = Mul(half, {length})"
        yield f"{target}_from = Sub({source}, {target}_low)  {target}_turns = Div({target}_from, {target}_period)"
        yield f"{target}_whole = Floor({target}_turns)  {target}_skip = Mul({target}_whole, {target}_period)"
        yield f"{target}_rest = Sub({target}_from, {target}_skip)"
        yield f"{target}_back = Sub({target}_period, {target}_rest)"
        yield f"{target}_near = Min({target}_rest, {target}_back)  {inside} = Add({target}_near, {target}_low)"


def index_lines(axis: int, tap: int, position: str) -> Iterator[str]:
    """Computes `i`, an integral position as an index, and `in`, whether it is inside the image."""
    name = f"{axis}_{tap}"
    yield f"ge{name} = GreaterOrEqual({position}, zero)  lt{name} = Less({position}, size{axis})"
    yield f"in{name} = And(ge{name}, lt{name})  safe{name} = Where(in{name}, {position}, zero)"
    yield f"i{name} = Cast <to = {INT64}> (safe{name})"


def nearest_lines(axis: int) -> Iterator[str]:
    yield f"rounded{axis} = Round(r{axis})"
    yield from index_lines(axis, 0, f"rounded{axis}")


def linear_lines(axis: int) -> Iterator[str]:
    yield f"floor{axis} = Floor(r{axis})  after{axis} = Add(floor{axis}, one)"
    yield f"w{axis}_1 = Sub(r{axis}, floor{axis})  w{axis}_0 = Sub(one, w{axis}_1)"
    yield from index_lines(axis, 0, f"floor{axis}")
    yield from index_lines(axis, 1, f"after{axis}")


def cubic_lines(axis: int, padding: AxisPadding) -> Iterator[str]:
    """The four pixels around each position, weighted by the cubic convolution kernel; weights of NaN are 0."""
    a = CUBIC_COEFFICIENT
    yield f"floor{axis} = Floor(q{axis})  share{axis}_c = Sub(q{axis}, floor{axis})"
    for tap, step in enumerate((-1, 0, 1, 2)):
        name = f"{axis}_{tap}"
        yield f"step{name} = {number(step)}  place{name} = Add(floor{axis}, step{name})"
        yield from padding.lines(f"place{name}", f"padded{name}")
        yield f"rounded{name} = Round(padded{name})"
        yield from index_lines(axis, tap, f"rounded{name}")
        yield f"signed{name} = Sub(share{axis}_c, step{name})  d{name} = Abs(signed{name})"
        if step in (0, 1):  # ((a + 2) d - (a + 3)) d d + 1
            yield f"c{name} = {number(a + 2)}  e{name} = {number(a + 3)}  f{name} = Mul(c{name}, d{name})"
            yield f"g{name} = Sub(f{name}, e{name})  h{name} = Mul(g{name}, d{name})"
            yield f"k{name} = Mul(h{name}, d{name})  v{name} = Add(k{name}, one)"
        else:  # (((d - 5) d + 8) d - 4) a
            yield f"c{name} = {number(5)}  e{name} = {number(8)}  f{name} = {number(4)}  o{name} = {number(a)}"
            yield f"g{name} = Sub(d{name}, c{name})  h{name} = Mul(g{name}, d{name})  k{name} = Add(h{name}, e{name})"
            yield f"l{name} = Mul(k{name}, d{name})  m{name} = Sub(l{name}, f{name})  v{name} = Mul(m{name}, o{name})"
        yield f"is_number{name} = Equal(d{name}, d{name})  w{name} = Where(is_number{name}, v{name}, zero)"


def sum_lines(taps: Sequence[int], *, is_weighted: bool) -> Iterator[str]:
    """Computes `total` [N, points, C], the weighted sum over the combinations of the taps of all axes."""
    total = ""
    for combination in itertools.product(*map(range, taps)):
        name = "_".join(map(str, combination))
        index, inside, weight = "", "", ""
        for axis, tap in enumerate(combination):
            own = f"{axis}_{tap}"
            if not index:
                index, inside, weight = f"i{own}", f"in{own}", f"w{own}"
                continue
            yield f"line{axis}x{name} = Mul({index}, length{axis})  index{axis}x{name} = Add(line{axis}x{name}, i{own})"
            yield f"inside{axis}x{name} = And({inside}, in{own})"
            index, inside = f"index{axis}x{name}", f"inside{axis}x{name}"
            if is_weighted:
                yield f"weight{axis}x{name} = Mul({weight}, w{own})"
                weight = f"weight{axis}x{name}"
        yield f"row{name} = Add({index}, first_rows)  gathered{name} = Gather <axis = 0> (table, row{name})"
        yield f"shown{name} = Unsqueeze({inside}, last)  pixel{name} = Where(shown{name}, gathered{name}, no_pixel)"
        term = f"pixel{name}"
        if is_weighted:
            yield f"narrow{name} = Cast <to = {FLOAT}> ({weight})  factor{name} = Unsqueeze(narrow{name}, last)"
            yield f"term{name} = Mul(pixel{name}, factor{name})"
            term = f"term{name}"
        if total:
            yield f"sum{name} = Add({total}, {term})"
            term = f"sum{name}"
        total = term
    yield f"total = Identity({total})"

"""QuantizeLinear and DequantizeLinear with a scale for each of several blocks, as the same operator with one block along its axis.

The axis is split into blocks and elements, so that a block fills an axis.  If the last block is partial, the scales
are repeated for each element instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.ir.dims import Dim, known_equal
from sardonyx._src.rewrite.engine.edit import Edit

WHOLE_BLOCKS = """(x, scale, zero) => (y) {{
  split = Constant <value = int64[{split_rank}] {{{split}}}> ()  whole = Constant <value = int64[{rank}] {{{whole}}}> ()
  after = Constant <value = int64[1] {{{after}}}> ()  blocks = Reshape(x, split)  scales = Unsqueeze(scale, after)
  {zeros}  parts = {call}  y = Reshape(parts, whole) }}"""
PARTIAL_BLOCK = """(x, scale, zero) => (y) {{
  indices = Constant <value = int64[{length}] {{{indices}}}> ()  scales = Gather <axis = {axis}> (scale, indices)
  {zeros}  y = {call} }}"""
# Gather lacks some types of zero points, so they are gathered as float32, which holds all of them exactly
# except int32.
GATHERED_ZEROS = """wide = Cast <to = 1> (zero)  spread = Gather <axis = {axis}> (wide, indices)
  zeros = Cast <to = {zero}> (spread)"""
KEPT_ATTRIBUTES = ("output_dtype", "precision", "saturate")
MAX_GATHERED = 1 << 16  # the most indices that the text of a decomposition states


def decompose(node: Node, edit: Edit) -> bool:
    """Only for several blocks along an axis of known size.  Kernels that read a dequantized constant dequantize it themselves."""
    if edit.operator_of(node) is None or edit.tensor(node.inputs[0]) is not None:
        return False
    types = [None if value is None else edit.type(value) for value in node.inputs]
    known = [type_ for type_ in types if type_ is not None and type_.shape is not None]
    if len(known) < sum(value is not None for value in node.inputs):
        return False
    attributes, dims = edit.attributes(node), known[0].shape
    size, axis = attributes["block_size"], attributes["axis"]
    assert isinstance(size, int) and isinstance(axis, int) and dims is not None, (
        f"{node!r} has other attributes"
    )
    axis %= max(len(dims), 1)
    length = dims[axis] if dims else None
    if not isinstance(length, int) or not 1 < size < length:
        return False
    expected = (*dims[:axis], -(-length // size), *dims[axis + 1 :])
    if not all(has_dims(type_.shape, expected) for type_ in known[1:]):
        return False
    blocks = Blocks(node, attributes, dims, axis, size, known[2].dtype if len(known) > 2 else None)
    text = blocks.partial_text(length) if length % size else blocks.whole_text(length // size)
    if text is None:
        return False
    inline_text(node, edit, text)
    return True


@dataclass(frozen=True, slots=True)
class Blocks:
    """A node with blocks along an axis.

    dims: the dims of its first input.
    size: the elements of a block.
    zero: the element type of the zero points, if there are any.
    """

    node: Node
    attributes: Mapping[str, object]
    dims: tuple[Dim, ...]
    axis: int
    size: int
    zero: DataType | None

    def call(self, inputs: str, *, axis: int, size: int) -> str:
        """The operator of a decomposition with `inputs` before the zero points."""
        kept = "".join(
            f", {key} = {self.attributes[key]}" for key in KEPT_ATTRIBUTES if key in self.attributes
        )
        zeros = "" if self.zero is None else "zeros"
        return f"{self.node.op_type} <axis = {axis}, block_size = {size}{kept}> ({inputs}, {zeros})"

    def partial_text(self, length: int) -> str | None:
        if length > MAX_GATHERED or self.zero is DataType.INT32:
            return None
        return PARTIAL_BLOCK.format(
            length=length,
            indices=", ".join(str(index // self.size) for index in range(length)),
            axis=self.axis,
            zeros="" if self.zero is None else GATHERED_ZEROS.format(axis=self.axis, zero=int(self.zero)),
            call=self.call("x, scales", axis=self.axis, size=1),
        )

    def whole_text(self, count: int) -> str | None:
        sizes, after = target_sizes(self.dims, self.axis), self.axis + 1
        if sizes is None:
            return None
        return WHOLE_BLOCKS.format(
            split_rank=len(sizes) + 1,
            split=", ".join(map(str, (*sizes[: self.axis], count, self.size, *sizes[after:]))),
            rank=len(sizes),
            whole=", ".join(map(str, sizes)),
            after=after,
            zeros="" if self.zero is None else "zeros = Unsqueeze(zero, after)",
            call=self.call("blocks, scales", axis=after, size=self.size),
        )


def has_dims(actual: tuple[Dim, ...] | None, expected: tuple[Dim, ...]) -> bool:
    """Whether dims are proved to be these."""
    if actual is None or len(actual) != len(expected):
        return False
    pairs = zip(actual, expected, strict=True)
    return all(a is not None and b is not None and known_equal(a, b) is True for a, b in pairs)


def target_sizes(dims: tuple[Dim, ...], axis: int) -> list[int] | None:
    """The target dims of a Reshape that splits or joins the axis; None if it cannot infer the open dims from the axis on."""
    before = [dim if isinstance(dim, int) else 0 for dim in dims[:axis]]  # for Reshape, 0 is the input's size
    after = [dim if isinstance(dim, int) and dim > 0 else -1 for dim in dims[axis:]]
    return [*before, *after] if after.count(-1) <= 1 else None

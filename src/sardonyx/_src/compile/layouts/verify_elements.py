"""Elements of tensors at sample sizes: records the written elements of buffers, and finds elements that are written twice."""

from __future__ import annotations

import math
from bisect import bisect, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from sardonyx._src.compile.program import TensorView, element_bytes
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import evaluate

Line: TypeAlias = (
    "tuple[int, ...]"  # of boxes that differ along one axis only: the axis, other coordinates and dims
)


@dataclass(frozen=True, slots=True)
class Box:
    """The elements of a tensor at sample sizes.

    count: the number of elements, each counted once.
    offset: the first element, counted from the beginning of the buffer.
    axes: the (stride, dim) of each axis with more than one element, the largest stride first.
    end: one more than the last byte, counted from the beginning of the buffer.
    buffer_bytes: the size of the buffer; None if these sizes do not determine it.
    """

    offset: int
    axes: tuple[tuple[int, int], ...]
    element_bytes: int
    count: int
    end: int
    buffer_bytes: int | None

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(stride for stride, _ in self.axes)

    def lines(self) -> Iterator[tuple[Line, tuple[int, int]]]:
        """For each axis, the line along which the box lies, and the segment of that line that the box occupies.

        A box has no lines if it extends beyond the end of an axis, into the next position of the next outer axis.
        """
        coordinates, rest = [], self.offset
        for stride, _ in self.axes:
            coordinate, rest = divmod(rest, max(stride, 1))
            coordinates.append(coordinate)
        ends = [start + dim for start, (_, dim) in zip(coordinates, self.axes, strict=True)]
        inner = zip(self.axes, self.axes[1:], ends[1:], strict=False)
        if all(stride * end <= outer for (outer, _), (stride, _), end in inner):
            for i, (_, dim) in enumerate(self.axes):
                others = (j for j in range(len(self.axes)) if j != i)
                others_of_box = (number for j in others for number in (coordinates[j], self.axes[j][1]))
                yield (i, rest, *others_of_box), (coordinates[i], coordinates[i] + dim)

    @property
    def is_inside(self) -> bool:
        """Whether all elements are inside of the buffer, as far as its size is known."""
        return self.offset >= 0 and (self.buffer_bytes is None or self.end <= self.buffer_bytes)


Boxes: TypeAlias = "tuple[Box | None, ...]"  # at each sample; None: empty, or not determined by the sizes


class TensorBoxes:
    """The elements of tensors at samples of sizes, computed once for each tensor.

    known: the boxes by the `id` of a tensor, with the tensor, so that no other object gets this `id`.
    """

    def __init__(self, samples: Sequence[Mapping[str, int]]) -> None:
        self.samples = samples
        self.none_written = tuple(WrittenElements() for _ in samples)
        self.known: dict[int, tuple[TensorView, Boxes]] = {}

    def of(self, tensor: TensorView) -> Boxes:
        if id(tensor) not in self.known:
            self.known[id(tensor)] = tensor, tuple(box_of(tensor, sizes) for sizes in self.samples)
        return self.known[id(tensor)][1]


def box_of(tensor: TensorView, sizes: Mapping[str, int]) -> Box | None:
    """The elements of a tensor; None if it is empty, or these sizes do not determine them."""
    symbolic = (tensor.offset, *tensor.strides, *tensor.shape)
    offset, *dims = [dim if isinstance(dim, int) else evaluate(dim, sizes) for dim in symbolic]
    known = [dim for dim in dims if dim is not None and dim >= 0]
    shape = known[tensor.rank :]
    if offset is None or len(known) < len(dims) or 0 in shape:
        return None
    axes = sorted([(stride, dim) for stride, dim in zip(known, shape, strict=False) if dim > 1], reverse=True)
    count = math.prod([dim for stride, dim in axes if stride > 0])
    end = offset + sum([(dim - 1) * stride for stride, dim in axes]) + 1
    size = element_bytes(tensor.dtype)
    return Box(offset, tuple(axes), size, count, end * size, evaluate(tensor.buffer.size, sizes))


class WrittenElements:
    """The elements of a buffer that items have written so far, at a sample of sizes.

    boxes: the boxes that were written.
    count: the number of elements.
    offsets: the offsets of the boxes; only filled for several boxes.
    grids: the boxes with equal strides, by strides; only filled for several boxes.
    """

    def __init__(self) -> None:
        self.boxes: list[Box] = []
        self.count = 0
        self.offsets: set[int] = set()
        self.grids: defaultdict[tuple[int, ...], Grid] = defaultdict(Grid)

    def copy(self) -> WrittenElements:
        copy = WrittenElements()
        for box in self.boxes:
            copy.add(box)
        return copy

    def may_hold(self, box: Box) -> bool:
        """Whether at least as many elements are written as the box has.

        True as well where that shows nothing: nothing is recorded, or elements of another size are.
        """
        if box.count <= self.count or not self.boxes:
            return True
        return any(part.element_bytes != box.element_bytes for part in self.boxes)

    def add(self, box: Box) -> bool:
        """Adds a box; returns whether none of its elements is known to be written already.

        That is only known for boxes of equal strides, which form a grid, such as the slices of a Concat's output.
        """
        if len(self.boxes) == 1:
            self.index(self.boxes[0])
        is_new = not self.boxes or not (
            box.offset in self.offsets
            or (box.strides in self.grids and self.grids[box.strides].overlaps(box))
        )
        if self.boxes:
            self.index(box)
        self.boxes.append(box)
        self.count += box.count
        return is_new

    def index(self, box: Box) -> None:
        self.offsets.add(box.offset)
        self.grids[box.strides].add(box)


class Grid:
    """Boxes of equal strides.

    lines: for each line, the sorted segments that boxes occupy on it.
    """

    def __init__(self) -> None:
        self.boxes: list[Box] = []
        self.lines: defaultdict[Line, list[tuple[int, int]]] = defaultdict(list)

    def add(self, box: Box) -> None:
        self.boxes.append(box)
        for line, segment in box.lines():
            insort(self.lines[line], segment)

    def overlaps(self, box: Box) -> bool:
        """Whether a box shares elements with a box of the grid.

        If all boxes are on one line, such as slices along an axis, only the neighbors on the line are compared.
        """
        for line, (start, end) in box.lines():
            segments = self.lines.get(line, [])
            if len(segments) == len(self.boxes):
                i = bisect(segments, (start, end))
                return (i > 0 and segments[i - 1][1] > start) or (i < len(segments) and segments[i][0] < end)
        return any(share_elements(box, other) for other in self.boxes)


def share_elements(a: Box, b: Box) -> bool:
    """Whether two boxes of equal strides share elements."""
    first, second = sorted((a, b), key=lambda box: box.offset)
    gap = second.offset - first.offset
    for stride, dim in first.axes:
        steps, gap = divmod(gap, max(stride, 1))
        if steps >= dim:
            return False
    return gap == 0

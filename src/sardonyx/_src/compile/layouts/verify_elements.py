"""Elements of tensors at sample sizes: which ones items have written, and that none is written twice."""

from __future__ import annotations

import math
from bisect import bisect, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sardonyx._src.compile.program.tensor import TensorView, element_bytes
from sardonyx._src.ir.dims import evaluate

Line: TypeAlias = (
    "tuple[int, ...]"  # of boxes that differ along one axis: the axis, other coordinates and dims
)


@dataclass(frozen=True, slots=True)
class Box:
    """The elements of a tensor at sample sizes: for each axis (stride, dim), the largest stride first.

    count: the number of elements, each counted once.  end: one more than the last byte, counted from the begin of the buffer.
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
        """For each axis, the line of the box along it, and the segment that it occupies there.

        There are none for a box that extends beyond the end of an axis, where that of the next outer one goes on.
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
        """Whether the buffer has all elements, as far as its size is known."""
        return self.offset >= 0 and (self.buffer_bytes is None or self.end <= self.buffer_bytes)


Boxes: TypeAlias = "tuple[Box | None, ...]"  # at each sample; None: empty, or not determined by the sizes


class TensorBoxes:
    """The elements of tensors at samples of sizes; those of each tensor are computed once.

    known: by identity, with the tensor, so that no other one gets its id.
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

    count: their number.  offsets, grids: of the boxes, by strides; only a buffer of several boxes needs them.
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
        """Whether as many elements are written as a tensor has; none, or of another size, tell nothing."""
        if box.count <= self.count or not self.boxes:
            return True
        return any(part.element_bytes != box.element_bytes for part in self.boxes)

    def add(self, box: Box) -> bool:
        """Adds a box; returns whether none of its elements is known to be written already.

        That is known for tensors of equal strides, which are boxes of one grid, as the slices of a Concat's output are.
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
    """Boxes of equal strides.  lines: for each line of boxes, the sorted segments that they occupy along its axis."""

    def __init__(self) -> None:
        self.boxes: list[Box] = []
        self.lines: defaultdict[Line, list[tuple[int, int]]] = defaultdict(list)

    def add(self, box: Box) -> None:
        self.boxes.append(box)
        for line, segment in box.lines():
            insort(self.lines[line], segment)

    def overlaps(self, box: Box) -> bool:
        """Whether a box shares elements with one of the grid.

        Where all of them are on one line, as slices along an axis are, its neighbors tell.
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

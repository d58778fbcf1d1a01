"""NonMaxSuppression kernels: select for each class the boxes with the highest scores that do not overlap too much.

    for batch item and class:                        # a unit of work
        heap of the scores that are not below the limit
        while there are candidates and fewer boxes than the limit are selected:
            remove the best candidate from the heap; select it if it overlaps no selected box too much

    for batch item and class: copy the selected boxes   # after the run has bound their number

Comparisons have the same operands, in the same order, as in the reference kernel.  Source: the greedy algorithm of
Felzenszwalb et al., "Object Detection with Discriminatively Trained Part-Based Models" (2010).
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.heap import Heap
from sardonyx._src.compile.kernels.loops.memory import load_at, store_at
from sardonyx._src.compile.kernels.loops.vectors import first_lanes, i64, load_vector, urem
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known, ceil_div

SUPPRESSION = Parameters(
    "boxes",
    "scores",
    "segments",
    "counts",
    "max_boxes",
    "iou_limit",
    "score_limit",
    "status",
    "candidates",
    "classes",
    "capacity",
)
COLLECTION = Parameters("segments", "counts", "y", "units", "classes", "capacity")
TOTAL = Parameters("counts", "total", "units")
FLOAT = LLVMType("float")
MAX_LANES = 16  # lanes of the widest target, to which arrays of boxes are padded
EDGES = 5  # numbers of a selected box: low and high corners, and its area
STEPS_PER_CANDIDATE = 40  # a candidate counts as this many operations


@dataclass(frozen=True, slots=True)
class SuppressionLimits:
    """Limits, as tensors of one element.

    max_boxes: the maximum number of boxes of a class, int64 >= 0.
    iou: the greatest allowed overlap (intersection over union), float32 in [0, 1].
    score: the least score, float32.
    """

    max_boxes: TensorView
    iou: TensorView
    score: TensorView

    @property
    def tensors(self) -> tuple[TensorView, ...]:
        return self.max_boxes, self.iou, self.score


def suppression_step(
    boxes: TensorView,
    scores: TensorView,
    segments: TensorView,
    counts: TensorView,
    limits: SuppressionLimits,
    status: TensorView,
    *,
    is_centered: bool,
) -> Step:
    """The step that selects boxes.

    segments: receives the selected boxes of each class, [batch * classes, capacity] int64.
    counts: receives the numbers of selected boxes, [batch * classes] int64.
    boxes: [batch, n, 4], scores: [batch, classes, n], float32, dense.  At most `capacity` boxes of a class are selected.
    is_centered: whether a box has its center and its size, not two corners.
    Limits outside of their ranges are reported in `status`, and nothing is selected.
    """
    candidates, capacity = scores.shape[2], segments.shape[1]
    kernel = Kernel(
        f"suppress_{'centred' if is_centered else 'corners'}",
        partial(suppression_module, is_centered=is_centered),
        SUPPRESSION,
    )
    args: tuple[KernelArgument, ...] = SUPPRESSION.pack(
        boxes=boxes,
        scores=scores,
        segments=segments,
        counts=counts,
        max_boxes=limits.max_boxes,
        iou_limit=limits.iou,
        score_limit=limits.score,
        status=status,
        candidates=candidates,
        classes=scores.shape[1],
        capacity=capacity,
    )
    return Step(
        kernel,
        args,
        counts.shape[0],
        (boxes, scores, *limits.tensors),
        (segments, counts, status),
        flops=scores.num_elements * STEPS_PER_CANDIDATE,
        bytes_accessed=scores.nbytes + boxes.nbytes,
        scratch=candidates * 8 + ceil_div(capacity, MAX_LANES) * (MAX_LANES * 4 * EDGES),
    )


def total_step(counts: TensorView, total: TensorView) -> Step:
    """The step of total[0] = sum of counts."""
    kernel = Kernel("suppression_total", total_module, TOTAL)
    args: tuple[KernelArgument, ...] = TOTAL.pack(counts=counts, total=total, units=counts.shape[0])
    return Step(kernel, args, 1, (counts,), (total,), flops=counts.num_elements)


def collection_step(segments: TensorView, counts: TensorView, y: TensorView, classes: Known) -> Step:
    """The step that writes y [selected, 3] int64, dense: the batch item, the class and the index of each selected box."""
    kernel = Kernel("suppression_results", collection_module, COLLECTION)
    args: tuple[KernelArgument, ...] = COLLECTION.pack(
        segments=segments,
        counts=counts,
        y=y,
        units=counts.shape[0],
        classes=classes,
        capacity=segments.shape[1],
    )
    return Step(kernel, args, 1, (segments, counts), (y,), bytes_accessed=y.nbytes * 2)


@dataclass(frozen=True, slots=True)
class BoxEdges:
    """The corners of a box, low before high, and its area: floats, or vectors of them."""

    y_low: LLVMValue
    x_low: LLVMValue
    y_high: LLVMValue
    x_high: LLVMValue
    area: LLVMValue

    @property
    def parts(self) -> tuple[LLVMValue, ...]:
        return self.y_low, self.x_low, self.y_high, self.x_high, self.area


@dataclass(frozen=True, slots=True)
class SelectedBoxes:
    """The edges of the selected boxes in memory: an array of floats for each part of a box."""

    b: KernelBuilder
    arrays: tuple[str, ...]

    def append(self, count: LLVMValue, box: BoxEdges) -> None:
        for array, part in zip(self.arrays, box.parts, strict=True):
            store_at(self.b, array, count, part)

    def load(self, first: LLVMValue) -> BoxEdges:
        """A vector of boxes; lanes past the last one are undefined."""
        return BoxEdges(*(load_vector(self.b, self.b.gep(array, first)) for array in self.arrays))


def suppression_module(name: str, target: Target, *, is_centered: bool) -> str:
    b = KernelBuilder(target, SUPPRESSION)
    boxes, scores, segments, counts = b.pointers("boxes", "scores", "segments", "counts")
    max_boxes_at, iou_at, score_at, status = b.pointers("max_boxes", "iou_limit", "score_limit", "status")
    candidates, classes, capacity = b.integers("candidates", "classes", "capacity")
    zero = i64(b, 0)
    max_boxes = load_at(b, max_boxes_at, zero, "i64")
    iou_limit, score_limit = load_at(b, iou_at, zero, "float"), load_at(b, score_at, zero, "float")
    is_valid = (max_boxes >= 0) & (iou_limit >= 0.0) & (iou_limit <= 1.0)
    with b.if_then(is_valid.eq(0)):
        b.lines.append(f" atomicrmw max ptr {status}, i64 1 monotonic, align 8")
    max_selected = b.select(is_valid, b.select(max_boxes < capacity, max_boxes, capacity), zero)
    padded_capacity = b.udiv(capacity + (MAX_LANES - 1), MAX_LANES) * MAX_LANES
    edges = b.gep(b.scratch, candidates, "i64")
    selected = SelectedBoxes(b, tuple(b.gep(edges, padded_capacity * part) for part in range(EDGES)))
    heap, heap_size, num_selected = Heap(b, b.scratch), b.new_slot("left", I64), b.new_slot("taken", I64)
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        item_boxes = b.gep(boxes, b.udiv(unit, classes) * candidates * 4)
        store_candidates(heap, b.gep(scores, unit * candidates), candidates, score_limit, heap_size)
        heap.build(b.load(heap_size))
        b.store(num_selected, i64(b, 0))
        head, inside, done = (b.new_label(word) for word in ("head", "body", "done"))
        b.enter_block(head)
        has_next = (b.load(heap_size) > 0) & (b.load(num_selected) < max_selected)
        b.lines.append(f" br {has_next}, label %{inside}, label %{done}")
        b.start_block(inside)
        # The low half of a key is the number of the candidate.
        index = heap.pop(b.load(heap_size)) & 0xFFFFFFFF
        b.store(heap_size, b.load(heap_size) - 1)
        box = load_box(b, b.gep(item_boxes, index * 4), is_centered=is_centered)
        with b.if_then(overlaps_selected(b, box, selected, b.load(num_selected), iou_limit).eq(0)):
            count = b.load(num_selected)
            selected.append(count, box)
            store_at(b, b.gep(segments, unit * capacity, "i64"), count, index)
            b.store(num_selected, count + 1)
        b.lines.append(f" br label %{head}")
        b.start_block(done)
        store_at(b, counts, unit, b.load(num_selected))
    return b.build_module(name)


def store_candidates(
    heap: Heap, scores: str, candidates: LLVMValue, limit: LLVMValue, count: MemoryLocation
) -> None:
    """Stores the keys of all scores that are not below a limit; the highest score has the least key.

    The high half of a key encodes the score in descending order, NaN last; the low half is the number of the candidate, so
    that earlier candidates come first among equal scores.
    """
    b = heap.b
    b.store(count, i64(b, 0))
    with b.loop(i64(b, 0), candidates, name="candidate") as i:
        score = b.load(MemoryLocation(b.gep(scores, i), FLOAT))
        bits = (score + 0.0).bitcast()  # -0.0 + 0.0 is 0.0, which makes them equal
        ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
        ordered = b.select(score.ne(score), b.constant(-(1 << 31), ordered.type), ordered)
        descending = (ordered ^ b.constant(-1, ordered.type)).convert("sext", "i64")
        position = b.load(count)
        b.store(heap.slot(position), (descending << 32) | i)
        b.store(count, position + (score < limit).eq(0).convert("zext", "i64"))


def load_box(b: KernelBuilder, address: str, *, is_centered: bool) -> BoxEdges:
    """The box with four numbers: two corners (y, x, y, x), or its center and size (x, y, width, height) if is_centered."""
    p, q, r, s = (load_at(b, address, i64(b, i), "float") for i in range(4))
    if is_centered:
        p, q, r, s = p - r / 2, q - s / 2, p + r / 2, q + s / 2
    y_low, y_high, x_low, x_high = *in_order(b, p, r), *in_order(b, q, s)
    return BoxEdges(y_low, x_low, y_high, x_high, (y_high - y_low) * (x_high - x_low))


def in_order(b: KernelBuilder, p: LLVMValue, q: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    return b.select(q < p, q, p), b.select(q < p, p, q)


def overlaps_selected(
    b: KernelBuilder, box: BoxEdges, selected: SelectedBoxes, count: LLVMValue, limit: LLVMValue
) -> LLVMValue:
    """Whether the intersection over union with any of `count` selected boxes exceeds the limit."""
    lanes = b.target.lanes
    splatted, limits = BoxEdges(*(b.splat(part, lanes) for part in box.parts)), b.splat(limit, lanes)
    result, first = b.new_slot("overlaps", LLVMType("i1")), b.new_slot("first", I64)
    b.store(result, b.constant(False, LLVMType("i1")))
    b.store(first, i64(b, 0))
    head, inside, done = (b.new_label(word) for word in ("head", "body", "done"))
    b.enter_block(head)
    i = b.load(first)
    b.lines.append(f" br {(i < count) & b.load(result).eq(0)}, label %{inside}, label %{done}")
    b.start_block(inside)
    exceeds = (intersection_over_union(b, selected.load(i), splatted) > limits) & first_lanes(b, count - i)
    is_any = exceeds
    if lanes > 1:
        is_any = b.call_intrinsic("vector.reduce.or", exceeds, result_type=LLVMType("i1"))
    b.store(result, is_any)
    b.store(first, i + lanes)
    b.lines.append(f" br label %{head}")
    b.start_block(done)
    return b.load(result)


def intersection_over_union(b: KernelBuilder, first: BoxEdges, second: BoxEdges) -> LLVMValue:
    """The area of the intersection of two boxes, divided by that of their union; NaN for two boxes without area."""
    shared = overlap(b, first.y_low, first.y_high, second.y_low, second.y_high)
    shared = shared * overlap(b, first.x_low, first.x_high, second.x_low, second.x_high)
    return shared / (second.area + first.area - shared)


def overlap(
    b: KernelBuilder, low: LLVMValue, high: LLVMValue, other_low: LLVMValue, other_high: LLVMValue
) -> LLVMValue:
    """The length of the intersection of two intervals."""
    length = b.select(high < other_high, high, other_high) - b.select(low > other_low, low, other_low)
    return length.clamp_min(0.0)


def total_module(name: str, target: Target) -> str:
    b = KernelBuilder(target, TOTAL)
    (counts, total), units = b.pointers("counts", "total"), b.integer("units")
    with b.loop(b.first_unit, b.end_unit, name="unit"):
        sum_slot = b.new_slot("sum", I64)
        b.store(sum_slot, i64(b, 0))
        with b.loop(i64(b, 0), units, name="class") as i:
            b.store(sum_slot, b.load(sum_slot) + load_at(b, counts, i, "i64"))
        store_at(b, total, i64(b, 0), b.load(sum_slot))
    return b.build_module(name)


def collection_module(name: str, target: Target) -> str:
    b = KernelBuilder(target, COLLECTION)
    segments, counts, y = b.pointers("segments", "counts", "y")
    units, classes, capacity = b.integers("units", "classes", "capacity")
    with b.loop(b.first_unit, b.end_unit, name="unit"):
        row_number = b.new_slot("row", I64)
        b.store(row_number, i64(b, 0))
        with b.loop(i64(b, 0), units, name="class") as i:
            segment, item, number = (
                b.gep(segments, i * capacity, "i64"),
                b.udiv(i, classes),
                urem(b, i, classes),
            )
            with b.loop(i64(b, 0), load_at(b, counts, i, "i64"), name="box") as j:
                row = b.gep(y, b.load(row_number) * 3, "i64")
                for column, element in enumerate((item, number, load_at(b, segment, j, "i64"))):
                    store_at(b, row, i64(b, column), element)
                b.store(row_number, b.load(row_number) + 1)
    return b.build_module(name)

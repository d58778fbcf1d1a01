"""TopK of rows by a bounded binary heap of k keys (heapselect), which is then heapsorted.

The heap has the worst of the k best elements so far at its root.  The first k elements of a row are heapified (Floyd);
each further element replaces the root if it is better.  Vectors whose lanes are all no better than the root are skipped,
which leaves few heap operations for k much smaller than n.  Loop nest: units of work (blocks of rows) -> rows -> vectors.

A key is an integer that is greater for a better element: the element mapped to an order-preserving integer in the upper
half, and n - index in the lower half, so that of equal elements the first one is better.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.iteration_space import IterationSpace, row_space
from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS
from sardonyx._src.compile.kernels.reductions.row_emitter import RowEmitter, num_units, rows_per_unit
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import dim_max

HEAP_KEY_TYPES: dict[int, Element] = {32: "i64", 64: "i128"}  # by the bits of an element


def top_k_step(x: TensorView, values: TensorView, indices: TensorView, axis: int, *, largest: bool) -> Step:
    """The k largest or smallest elements along an axis and their indices, best first; equal elements by index.

    x: [..., n, ...]; values: [..., k, ...] of its type; indices: int64 of these dims; k <= n.  NaN is greater than all
    numbers.
    """
    element, axis = NUMERIC_ELEMENTS[x.dtype], axis % x.rank
    space = IterationSpace(x.shape, (x.strides, values.strides, indices.strides))
    rows, n, k = row_space(space.drop_dim(axis), by=1), x.shape[axis], values.shape[axis]
    rank, is_contiguous = rows.rank, x.strides[axis] == 1
    kernel = Kernel(
        f"top_{'largest' if largest else 'smallest'}_{element}{'_row' * is_contiguous}_{rank}",
        lambda name, target: TopKEmitter(
            target, element, rank, largest=largest, is_contiguous=is_contiguous
        ).build_module(name),
    )
    steps = tuple(tensor.strides[axis] for tensor in (x, values, indices))
    args = (x, values, indices, rows.size, rows_per_unit(n), n, k, *steps, *rows.to_arguments())
    return Step(
        kernel,
        args,
        num_units(rows.size, n),
        (x,),
        (values, indices),
        flops=x.num_elements * 4,
        bytes_accessed=x.nbytes + values.nbytes * 3,
        scratch=dim_max(k, 1) * (LLVMType(element).bits // 4),
    )


class TopKEmitter(RowEmitter):
    """Emits a TopK of rows.

    args: x, values, indices, rows, rows per unit, n, k, strides along the axis of x, values and indices, dims of the rows
    (strides of x, of values, of indices).  scratch: the heap, k keys.
    """

    def __init__(
        self, target: Target, element: Element, rank: int, *, largest: bool, is_contiguous: bool
    ) -> None:
        super().__init__(target, element)
        self.largest, self.is_contiguous = largest, is_contiguous
        self.bits = self.scalar_type.bits
        self.key_type = LLVMType(HEAP_KEY_TYPES[self.bits])
        self.rank_element: Element = "i32" if self.bits == 32 else "i64"
        self.bases = [self.pointer_argument(i) for i in range(3)]
        rows, unit_rows, self.n, self.k, *self.steps = (self.size_argument(i) for i in range(3, 10))
        self.loop_unit_rows(rows, unit_rows, self.load_dims(10, rank, 3), self.select_row)

    def select_row(self, _: LLVMValue, offsets: list[LLVMValue]) -> None:
        x, values = (
            self.element_pointer(base, offset)
            for base, offset in zip(self.bases[:2], offsets[:2], strict=True)
        )
        indices = self.gep(self.bases[2], offsets[2], "i64")

        def select_best() -> None:
            self.build_heap(x)
            self.scan_row(x)
            self.sort_heap()
            self.loop_call(self.zero, self.k, 1, lambda i: self.write_result(x, values, indices, i), "give")

        self.if_then_call(self.k > 0, select_best)

    # --- keys --------------------------------------------------------------------------------

    def ranks(self, elements: LLVMValue) -> LLVMValue:
        """Maps elements to integers of the same width in their order, the best one greatest; NaN is above all numbers.

        Of a negative float, the bits other than the sign are inverted.
        """
        if elements.type.is_float:
            greatest = (1 << self.bits - 1) - 1
            bits = (elements + 0.0).bitcast()  # -0.0 + 0.0 is 0.0, which makes them equal
            ordered = bits ^ ((bits >> self.bits - 1) & greatest)
            elements = self.select(elements.ne(elements), self.constant(greatest, ordered.type), ordered)
        return elements if self.largest else elements ^ self.constant(-1, elements.type)

    def load_key(self, x: str, i: LLVMValue) -> LLVMValue:
        """The key of element i of a row."""
        address = self.element_pointer(x, i * self.steps[0])
        rank = self.ranks(self.load(StackSlot(address, self.scalar_type)))
        return (rank.convert("sext", self.key_type.element) << self.bits) | self.widen_index(self.n - i)

    def widen_index(self, i: LLVMValue) -> LLVMValue:
        """An index in the type of keys."""
        return i if self.bits == 32 else i.convert("zext", self.key_type.element)

    def heap_slot(self, i: LLVMValue) -> StackSlot:
        """The memory of entry i of the heap."""
        return StackSlot(self.gep(self.scratch, i, self.key_type.element), self.key_type)

    # --- the heap ----------------------------------------------------------------------------

    def build_heap(self, x: str) -> None:
        """Builds a heap of the first k elements, bottom up."""
        self.loop_call(
            self.zero, self.k, 1, lambda i: self.store(self.heap_slot(i), self.load_key(x, i)), "fill"
        )
        half = self.k >> 1

        def heapify(i: LLVMValue) -> None:
            entry = half - 1 - i
            self.sift_down(entry, self.k, self.load(self.heap_slot(entry)))

        self.loop_call(self.zero, half, 1, heapify, "heap")

    def scan_row(self, x: str) -> None:
        """Offers the other elements to the heap, a vector at a time if the row is contiguous."""
        if not self.is_contiguous or self.lanes == 1:
            self.loop_call(self.k, self.n, 1, lambda i: self.offer(x, i), "one")
            return

        def scan_vector(i: LLVMValue) -> None:
            worst = (self.load(self.heap_slot(self.zero)) >> self.bits).convert("trunc", self.rank_element)
            ranks = self.ranks(self.load(StackSlot(self.element_pointer(x, i), self.vector_type)))
            has_better = self.call_intrinsic(
                "vector.reduce.or", ranks > self.splat(worst, self.lanes), result_type=LLVMType("i1")
            )
            self.if_then_call(has_better, lambda: self.offer_lanes(x, i))

        done = self.loop_call(self.k, self.n, self.lanes, scan_vector, "block")
        self.loop_call(done, self.n, 1, lambda i: self.offer(x, i), "one")

    def offer_lanes(self, x: str, first: LLVMValue) -> None:
        self.loop_call(first, first + self.lanes, 1, lambda i: self.offer(x, i), "lane")

    def offer(self, x: str, i: LLVMValue) -> None:
        """Replaces the root by element i if that is better."""
        key = self.load_key(x, i)
        root = self.load(self.heap_slot(self.zero))
        self.if_then_call(key > root, lambda: self.sift_down(self.zero, self.k, key))

    def sort_heap(self) -> None:
        """Heapsort: moves the root, the worst key, to the end of the heap, which becomes shorter by one."""

        def extract_worst(i: LLVMValue) -> None:
            end = self.k - 1 - i
            worst, key = self.load(self.heap_slot(self.zero)), self.load(self.heap_slot(end))
            self.sift_down(self.zero, end, key)
            self.store(self.heap_slot(end), worst)

        self.loop_call(self.zero, self.k - 1, 1, extract_worst, "sort")

    def sift_down(self, start: LLVMValue, count: LLVMValue, key: LLVMValue) -> None:
        """Inserts a key at a vacant entry of a heap of `count` keys, moving it down below worse children."""
        entry = self.new_slot("at", I64)
        self.store(entry, start)
        head, look, move, done = (self.new_label(word) for word in ("head", "look", "move", "done"))
        self.enter_block(head)
        i = self.load(entry)
        left = i * 2 + 1
        self.lines.append(f" br {left < count}, label %{look}, label %{done}")
        self.start_block(look)
        right = self.select(left + 1 < count, left + 1, left)
        children = [self.load(self.heap_slot(child)) for child in (left, right)]
        is_right = children[1] < children[0]
        worse = self.select(is_right, children[1], children[0])
        self.lines.append(f" br {worse < key}, label %{move}, label %{done}")
        self.start_block(move)
        self.store(self.heap_slot(i), worse)
        self.store(entry, self.select(is_right, right, left))
        self.lines.append(f" br label %{head}")
        self.start_block(done)
        self.store(self.heap_slot(self.load(entry)), key)

    def write_result(self, x: str, values: str, indices: str, i: LLVMValue) -> None:
        """Writes the element and the index of key i of the sorted heap."""
        key = self.load(self.heap_slot(i))
        index = self.n - (key & 0xFFFFFFFF if self.bits == 32 else key.convert("trunc", "i64"))
        value = self.load(StackSlot(self.element_pointer(x, index * self.steps[0]), self.scalar_type))
        self.store(StackSlot(self.element_pointer(values, i * self.steps[1]), self.scalar_type), value)
        self.store(StackSlot(self.gep(indices, i * self.steps[2], "i64"), I64), index)

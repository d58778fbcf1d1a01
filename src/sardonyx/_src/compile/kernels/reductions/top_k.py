"""TopK of rows by a bounded binary heap of k keys (heapselect), which is then heapsorted.

The heap has the worst of the k best elements so far at its root.  The first k elements of a row are heapified (Floyd);
each further element replaces the root if it is better.  Vectors whose lanes are all no better than the root are skipped,
which leaves few heap operations for k much smaller than n.  Loop nest: rows of the units -> vectors.

A key is an integer that is greater for a better element: the element mapped to an order-preserving integer in the upper
half, and n - index in the lower half, so that of equal elements the first one is better.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sardonyx._src.compile.codegen import (
    I64,
    Element,
    LLVMType,
    LLVMValue,
    MemoryLocation,
    Parameters,
    Target,
)
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.heap import Heap
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace, row_space
from sardonyx._src.compile.kernels.loops.memory import load_at
from sardonyx._src.compile.kernels.loops.rows import full_vector_type, num_units, row_arguments
from sardonyx._src.compile.kernels.loops.strided_loops import load_dims, loop_rows, unit_row_range
from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import dim_max

# x_step, values_step, indices_step: strides along the axis.  dims: of the rows (strides of x, values and indices).
PARAMETERS = Parameters(
    "x", "values", "indices", "rows", "unit_rows", "n", "k", "x_step", "values_step", "indices_step", "dims*"
)
FLOPS_PER_RESULT = 1_000  # nominal: a descent through a heap, most of which is in no cache
TOP_K_ELEMENTS: dict[DataType, Element] = {**NUMERIC_ELEMENTS, DataType.UINT32: "u32", DataType.UINT64: "u64"}
HEAP_KEY_TYPES: dict[int, Element] = {32: "i64", 64: "i128"}  # by the bits of an element


def top_k_step(x: TensorView, values: TensorView, indices: TensorView, axis: int, *, largest: bool) -> Step:
    """The k largest or smallest elements along an axis and their indices, best first; equal elements by index.

    x: [..., n, ...]; values: [..., k, ...] of its type; indices: int64 of these dims; k <= n.  NaN is greater than all
    numbers.
    """
    element, axis = TOP_K_ELEMENTS[x.dtype], axis % x.rank
    space = IterationSpace(x.shape, (x.strides, values.strides, indices.strides))
    rows, n, k = row_space(space.drop_dim(axis), by=1), x.shape[axis], values.shape[axis]
    rank, is_contiguous = rows.rank, x.strides[axis] == 1
    kernel = Kernel(
        f"top_{'largest' if largest else 'smallest'}_{element}{'_row' * is_contiguous}_{rank}",
        partial(top_k_module, element=element, rank=rank, largest=largest, is_contiguous=is_contiguous),
        PARAMETERS,
    )
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x,
        values=values,
        indices=indices,
        k=k,
        x_step=x.strides[axis],
        values_step=values.strides[axis],
        indices_step=indices.strides[axis],
        **row_arguments(rows, n),
    )
    return Step(
        kernel,
        args,
        num_units(rows.size, n),
        (x,),
        (values, indices),
        flops=x.num_elements * 4 + values.num_elements * FLOPS_PER_RESULT,
        bytes_accessed=x.nbytes + values.nbytes * 3,
        scratch=dim_max(k, 1) * (LLVMType(element).bits // 4),
    )


def top_k_module(
    name: str, target: Target, element: Element, rank: int, *, largest: bool, is_contiguous: bool
) -> str:
    """The kernel of a TopK of rows.  scratch: the heap, k keys."""
    b = KernelBuilder(target, PARAMETERS)
    x, values, indices = b.pointers("x", "values", "indices")
    rows, unit_rows, n, k = b.integers("rows", "unit_rows", "n", "k")
    x_step, values_step, indices_step = b.integers("x_step", "values_step", "indices_step")
    vector_type, dims = full_vector_type(target, element), load_dims(b, "dims", rank, 3)
    with loop_rows(b, dims, *unit_row_range(b, rows, unit_rows)) as (_, offsets):
        x_row, values_row = b.gep(x, offsets[0], element), b.gep(values, offsets[1], element)
        indices_row = b.gep(indices, offsets[2], "i64")
        row = TopKRow(b, x_row, x_step, n, k, element, largest=largest)
        with b.if_then(k > 0):
            build_heap(row)
            scan_row(row, vector_type.lanes if is_contiguous else 1)
            row.heap.sort(row.k)
            with b.loop(row.zero, k) as i:
                index = key_index(row, b.load(row.heap.slot(i)))
                value = load_at(b, x_row, index * x_step, element)
                b.store(MemoryLocation(b.gep(values_row, i * values_step, element), value.type), value)
                b.store(MemoryLocation(b.gep(indices_row, i * indices_step, "i64"), I64), index)
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class TopKRow:
    """A row x of n elements, x_step apart, of which a heap selects k."""

    b: KernelBuilder
    x: str
    x_step: LLVMValue
    n: LLVMValue
    k: LLVMValue
    element: Element
    largest: bool

    @property
    def zero(self) -> LLVMValue:
        return self.b.constant(0, I64)

    @property
    def bits(self) -> int:
        """The width of an element, half that of a key."""
        return LLVMType(self.element).bits

    @property
    def key_type(self) -> LLVMType:
        return LLVMType(HEAP_KEY_TYPES[self.bits])

    @property
    def heap(self) -> Heap:
        return Heap(self.b, self.b.scratch, self.key_type)


# --- keys ------------------------------------------------------------------------------------


def emit_ranks(row: TopKRow, elements: LLVMValue) -> LLVMValue:
    """Maps elements to integers of the same width in their order, the best one greatest; NaN is above all numbers.

    Of a negative float, the bits other than the sign are inverted.
    """
    if elements.type.is_unsigned:
        signed: Element = "i32" if row.bits == 32 else "i64"
        elements = LLVMValue(row.b, elements.type.with_element(signed), elements.name) ^ -(1 << row.bits - 1)
    if elements.type.is_float:
        b, greatest = row.b, (1 << row.bits - 1) - 1
        bits = (elements + 0.0).bitcast()  # -0.0 + 0.0 is 0.0, which makes them equal
        ordered = bits ^ ((bits >> row.bits - 1) & greatest)
        elements = b.select(elements.ne(elements), b.constant(greatest, ordered.type), ordered)
    return elements if row.largest else elements ^ row.b.constant(-1, elements.type)


def load_key(row: TopKRow, i: LLVMValue) -> LLVMValue:
    """The key of element i of a row."""
    rank = emit_ranks(row, load_at(row.b, row.x, i * row.x_step, row.element))
    high = rank.convert("sext", row.key_type.element) << row.bits
    low = row.n - i
    return high | (low if row.bits == 32 else low.convert("zext", row.key_type.element))


def key_index(row: TopKRow, key: LLVMValue) -> LLVMValue:
    """The index of the element with this key."""
    return row.n - (key & 0xFFFFFFFF if row.bits == 32 else key.convert("trunc", "i64"))


# --- the heap --------------------------------------------------------------------------------


def build_heap(row: TopKRow) -> None:
    """Builds a heap of the first k elements, bottom up."""
    b = row.b
    with b.loop(row.zero, row.k) as i:
        b.store(row.heap.slot(i), load_key(row, i))
    row.heap.build(row.k)


def scan_row(row: TopKRow, lanes: int) -> None:
    """Offers the other elements to the heap, `lanes` at a time; more than one only if the row is contiguous."""
    b, i = row.b, row.k
    if lanes > 1:
        rank_element: Element = "i32" if row.bits == 32 else "i64"
        with b.loop(row.k, row.n, lanes, "block") as i:
            worst = (b.load(row.heap.slot(row.zero)) >> row.bits).convert("trunc", rank_element)
            elements = b.load(MemoryLocation(b.gep(row.x, i, row.element), LLVMType(row.element, lanes)))
            is_better = emit_ranks(row, elements) > b.splat(worst, lanes)
            for lane in loop_set_lanes(b, is_better):
                offer(row, i + lane)
    with b.loop(i, row.n) as i:
        offer(row, i)


def loop_set_lanes(b: KernelBuilder, mask: LLVMValue) -> Iterator[LLVMValue]:
    """The body of a loop over the lanes in which a mask of at most 64 lanes is set, in ascending order."""
    lanes = mask.type.lanes
    word = f"i{lanes}"
    name = b.emit(I64, f"bitcast {mask} to {word}").name  # a number of `lanes` bits
    bits = b.emit(I64, f"zext {word} {name} to i64") if lanes < I64.bits else LLVMValue(b, I64, name)
    remaining = b.new_slot("lanes", I64)
    b.store(remaining, bits)
    head, inside, done = (b.new_label(part) for part in ("head", "body", "done"))
    b.enter_block(head)
    bits = b.load(remaining)
    b.lines.append(f" br {bits.ne(0)}, label %{inside}, label %{done}")
    b.start_block(inside)
    b.declarations["declare i64 @llvm.cttz.i64(i64, i1 immarg)"] = None
    yield b.emit(I64, f"call i64 @llvm.cttz.i64({bits}, i1 true)")
    b.store(remaining, bits & (bits - 1))
    b.lines.append(f" br label %{head}")
    b.start_block(done)


def offer(row: TopKRow, i: LLVMValue) -> None:
    """Replaces the root by element i if that is better."""
    key = load_key(row, i)
    root = row.b.load(row.heap.slot(row.zero))
    with row.b.if_then(key > root):
        row.heap.sift_down(row.zero, row.k, key)

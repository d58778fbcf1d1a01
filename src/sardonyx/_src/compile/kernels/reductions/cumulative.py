"""CumSum and CumProd: prefix sums and products, element after element in the order that NumPy rounds.

Loop nest: units of work (a row of BLOCK_COLUMNS columns) -> vectors of adjacent columns -> the n entries of the axis, with
one accumulator per lane.  Without a contiguous dim beside the axis, rows are scanned one element at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.iteration_space import IterationSpace, row_space, simplify
from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS, REDUCERS
from sardonyx._src.compile.kernels.reductions.row_emitter import BLOCK_COLUMNS, RowEmitter, rows_per_unit
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import ceil_div


@dataclass(frozen=True, slots=True)
class CumulativeVariant:
    """A prefix sum or product; `exclusive` excludes the element itself, `reverse` starts at the end of the axis."""

    product: bool = False
    exclusive: bool = False
    reverse: bool = False


def cumulative_step(
    x: TensorView, y: TensorView, axis: int, variant: CumulativeVariant, nodes: tuple[str, ...] = ()
) -> Step | None:
    """y = the prefix sums or products of x along an axis.

    x, y: of one shape and type; they may be the same tensor.  None for element types without a kernel.
    """
    element, axis = NUMERIC_ELEMENTS.get(x.dtype), axis % x.rank
    if element is None:
        return None
    n, steps, tensors = x.shape[axis], [x.strides[axis], y.strides[axis]], [x, y]
    if variant.reverse:
        tensors = [replace(t, offset=t.offset + (n - 1) * t.strides[axis]) for t in tensors]
        steps = [-step for step in steps]
    outer = simplify(IterationSpace(x.shape, (x.strides, y.strides)).drop_dim(axis), by=1)
    inner = next((d for d in range(outer.rank) if all(s[d] == 1 for s in outer.strides)), None)
    columns = 1 if inner is None else outer.shape[inner]
    rows = row_space(outer if inner is None else outer.drop_dim(inner), by=1)
    is_vectorized, rank = inner is not None, rows.rank
    unit_rows = 1 if is_vectorized else rows_per_unit(n)
    op = f"{'product' if variant.product else 'sum'}{'_before' * variant.exclusive}"
    kernel = Kernel(
        f"running_{element}_{op}_{rank}_{is_vectorized}",
        lambda name, target: CumulativeEmitter(
            target, element, variant, rank, is_vectorized=is_vectorized
        ).build_module(name),
    )
    args = (*tensors, rows.size, unit_rows, columns, n, *steps, *rows.to_arguments())
    units = ceil_div(rows.size, unit_rows) * ceil_div(columns, BLOCK_COLUMNS)
    traffic = x.nbytes + y.nbytes
    return Step(kernel, args, units, (x,), (y,), flops=x.num_elements, bytes_accessed=traffic, nodes=nodes)


class CumulativeEmitter(RowEmitter):
    """Emits prefix sums or products.

    args: x, y, rows, rows per unit, columns, n, strides of x and of y along the axis, dims of the rows (strides of x,
    of y).
    """

    def __init__(
        self, target: Target, element: Element, variant: CumulativeVariant, rank: int, *, is_vectorized: bool
    ) -> None:
        super().__init__(target if is_vectorized else replace(target, lanes=1), element)
        self.variant, self.reducer = variant, REDUCERS["prod" if variant.product else "sum"]
        self.bases = [self.pointer_argument(0), self.pointer_argument(1)]
        rows, unit_rows, columns, self.n, *self.steps = (self.size_argument(i) for i in range(2, 8))
        dims = self.load_dims(8, rank, 2)

        def scan_unit(first: LLVMValue, end: LLVMValue, column: LLVMValue, count: LLVMValue) -> None:
            def scan_row(_: LLVMValue, offsets: list[LLVMValue]) -> None:
                x, y = (self.element_pointer(b, o + column) for b, o in zip(self.bases, offsets, strict=True))
                self.loop_vectors(count, lambda i, _, mask: self.scan_columns(x, y, i, mask), 1)

            self.loop_rows(dims, first, end, scan_row)

        self.loop_units(rows, unit_rows, columns, BLOCK_COLUMNS, scan_unit)

    def scan_columns(self, x: str, y: str, i: LLVMValue, mask: LLVMValue | None) -> None:
        """Scans a vector of columns along the axis."""
        accumulator: StackSlot = self.new_accumulators(self.reducer.identity, 1)[0]

        def scan_entry(k: LLVMValue) -> None:
            before = self.load(accumulator)
            after = self.reducer.combine(self, before, self.load_vector(x, i + k * self.steps[0], mask))
            result = before if self.variant.exclusive else after
            self.store_vector(result, y, i + k * self.steps[1], mask)
            self.store(accumulator, after)

        self.loop_call(self.zero, self.n, 1, scan_entry, "k")

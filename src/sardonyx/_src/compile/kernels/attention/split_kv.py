"""Split-KV reduction (flash-decoding): combines the partial attention results of several ranges of the keys.

A partial result is a header of three vectors, each with one number in all lanes: the query's maximum score, its sum of
exp(score - maximum), and 1 or 0 for whether any key of the range is visible to it; then its unnormalized output [E].
With M the greatest maximum and f = exp(maximum - M), y = sum(f * output) / sum(f * sum) over the ranges.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.attention.attention_emitter import ALIGNED_FLOATS, PARTIAL_HEADER_FLOATS
from sardonyx._src.compile.kernels.attention.online_softmax import exp_nonpositive
from sardonyx._src.compile.kernels.gemm.vector_emitter import VectorKernelEmitter
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import Known, dim_min

FLOAT_BYTES = 4
MAXIMUM, SUM, VISIBILITY = range(3)  # vectors of the header


def reduce_splits_step(partials: TensorView, y: TensorView, *, zero_masked_rows: bool) -> Step:
    """The step that reduces partials [B, H, S, splits, header + E] to y [B, H, S, E]; no units of work for one split.

    zero_masked_rows: whether a query for which every key is masked yields zeros; otherwise it yields NaN.
    """
    kernel = Kernel(
        f"attention_joined{'_zeros' * zero_masked_rows}",
        lambda name, target: SplitReductionEmitter(target, zero_masked_rows=zero_masked_rows).build_module(
            name
        ),
    )
    batch, heads, queries, width = y.shape
    splits, partial_stride = partials.shape[3:]
    rows: Known = batch * heads * queries * dim_min(splits - 1, 1)
    return Step(
        kernel,
        (partials, y, heads, queries, splits, width, partial_stride, *y.strides[:3]),
        units=rows,
        reads=(partials,),
        writes=(y,),
        flops=rows * splits * (width + 20) * 2,
        bytes_accessed=partials.nbytes + y.nbytes,
        scratch=splits * ALIGNED_FLOATS * FLOAT_BYTES,
    )


class SplitReductionEmitter(VectorKernelEmitter):
    """Emits the kernel.  A unit is a query.  Scratch: for each split a vector, the factor f of its output."""

    def __init__(self, target: Target, *, zero_masked_rows: bool) -> None:
        super().__init__(target)
        self.zero_masked_rows = zero_masked_rows
        self.partials, self.y = self.pointer_argument(0), self.pointer_argument(1)
        self.heads, self.queries, self.splits, self.width, self.partial_stride, *self.y_strides = (
            self.size_argument(i) for i in range(2, 10)
        )
        self.loop_call(self.first_unit, self.end_unit, 1, self.reduce_query, "query")

    def reduce_query(self, unit: LLVMValue) -> None:
        head, query = self.udivmod(unit, self.queries)
        batch, head = self.udivmod(head, self.heads)
        y = self.gep(self.y, batch * self.y_strides[0] + head * self.y_strides[1] + query * self.y_strides[2])
        partial = self.gep(self.partials, unit * self.splits * self.partial_stride)
        inverse = self.store_factors(partial)

        def reduce_columns(d: LLVMValue, mask: LLVMValue | None) -> None:
            total = self.new_slot("total", self.vector_type)
            self.store(total, self.zeros)

            def add(split: LLVMValue) -> None:
                output = self.load_vector(
                    self.gep(partial, split * self.partial_stride + d + PARTIAL_HEADER_FLOATS)
                )
                factor = self.load_vector(self.gep(self.scratch, split * ALIGNED_FLOATS))
                self.store(total, self.fma(factor, output, self.load(total)))

            self.loop_call(self.i64(0), self.splits, 1, add, "add")
            self.store_vector(self.load(total) * inverse, self.gep(y, d), mask)

        self.loop_masked_vectors(self.width, reduce_columns)

    def store_factors(self, partial: str) -> LLVMValue:
        """Stores the factor of each split in scratch; returns 1 / the sum of all weights, in every lane."""
        maximum, total, visibility = (
            self.new_slot(name, self.vector_type) for name in ("max", "sum", "counts")
        )
        self.store(maximum, self.constant(float("-inf"), self.vector_type))
        for slot in (total, visibility):
            self.store(slot, self.zeros)

        def update_maximum(split: LLVMValue) -> None:
            split_maximum, old_maximum = self.load_header(partial, split, MAXIMUM), self.load(maximum)
            self.store(maximum, self.select(split_maximum > old_maximum, split_maximum, old_maximum))
            self.store(visibility, self.load(visibility) + self.load_header(partial, split, VISIBILITY))

        def store_factor(split: LLVMValue) -> None:
            factor = self.call_vector_function(
                exp_nonpositive, self.load_header(partial, split, MAXIMUM) - base
            )
            self.store_vector(factor, self.gep(self.scratch, split * ALIGNED_FLOATS))
            self.store(total, self.fma(factor, self.load_header(partial, split, SUM), self.load(total)))

        self.loop_call(self.i64(0), self.splits, 1, update_maximum, "look")
        total_maximum = self.load(maximum)
        base = self.select(total_maximum.eq(float("-inf")), 0.0, total_maximum)
        self.loop_call(self.i64(0), self.splits, 1, store_factor, "weigh")
        inverse = 1.0 / self.load(total)
        if not self.zero_masked_rows:
            return inverse
        return self.select(self.load(visibility).eq(0.0), 0.0, inverse)

    def load_header(self, partial: str, split: LLVMValue, index: int) -> LLVMValue:
        """A vector of the header of a split's partial result."""
        return self.load_vector(self.gep(partial, split * self.partial_stride + index * ALIGNED_FLOATS))

    @property
    def zeros(self) -> LLVMValue:
        return self.constant(0.0, self.vector_type)

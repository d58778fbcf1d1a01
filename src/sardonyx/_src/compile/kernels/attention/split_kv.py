"""Split-KV reduction (flash-decoding): combines the partial attention results of several ranges of the keys.

A partial result is a header of three vectors, followed by the query's unnormalized output [E].  Each vector of the header has
one number in all lanes: the query's maximum score, its sum of exp(score - maximum), and 1 if any key of the range is visible
to the query, else 0.  With M the greatest maximum and f = exp(maximum - M), y = sum(f * output) / sum(f * sum) over the ranges.

A unit of work is a query.  Loop nest: splits (maximum), splits (factors f), vectors along E -> splits.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.attention.online_softmax import (
    exp_below,
    max_skipping_nan,
    negative_infinity,
    softmax_base,
)
from sardonyx._src.compile.kernels.attention.parameters import (
    ALIGNED_FLOATS,
    PARTIAL_HEADER_FLOATS,
    name_strides,
)
from sardonyx._src.compile.kernels.loops.vectors import (
    i64,
    load_vector,
    loop_masked_vectors,
    store_vector,
    vector_type,
    zeros,
)
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.ir.dims import Known, dim_min

FLOAT_BYTES = 4
MAXIMUM, SUM, VISIBILITY = range(3)  # indices of the vectors of the header
PARAMETERS = Parameters(
    "partials", "y", "heads", "queries", "splits", "width", "partial_stride", "y_batch", "y_head", "y_row"
)


def reduce_splits_step(partials: TensorView, y: TensorView, *, zero_masked_rows: bool) -> Step:
    """The step that reduces partials [B, H, S, splits, header + E] to y [B, H, S, E]; it has no units of work for one split.

    zero_masked_rows: whether a query for which every key is masked yields zeros; otherwise it yields NaN.
    """
    kernel = Kernel(
        f"attention_joined{'_zeros' * zero_masked_rows}",
        partial(split_reduction_module, zero_masked_rows=zero_masked_rows),
        PARAMETERS,
    )
    batch, heads, queries, width = y.shape
    splits, partial_stride = partials.shape[3:]
    arguments: dict[str, KernelArgument] = {
        "partials": partials,
        "y": y,
        "heads": heads,
        "queries": queries,
        "splits": splits,
        "width": width,
        "partial_stride": partial_stride,
        **name_strides("y", y.strides[:3]),
    }
    rows: Known = batch * heads * queries * dim_min(splits - 1, 1)
    return Step(
        kernel,
        PARAMETERS.pack(**arguments),
        units=rows,
        reads=(partials,),
        writes=(y,),
        flops=rows * splits * (width + 20) * 2,
        bytes_accessed=partials.nbytes + y.nbytes,
        scratch=splits * ALIGNED_FLOATS * FLOAT_BYTES,
    )


def split_reduction_module(name: str, target: Target, *, zero_masked_rows: bool) -> str:
    """The LLVM module of the kernel.  Scratch: for each split a vector, the factor f of its output."""
    b = KernelBuilder(target, PARAMETERS)
    partials, y = b.pointers("partials", "y")
    heads, queries, splits, width, stride = b.integers(
        "heads", "queries", "splits", "width", "partial_stride"
    )
    y_batch, y_head, y_row = b.integers("y_batch", "y_head", "y_row")
    with b.loop(b.first_unit, b.end_unit, name="query") as unit:
        head, query = b.udivmod(unit, queries)
        batch, head = b.udivmod(head, heads)
        result = b.gep(y, batch * y_batch + head * y_head + query * y_row)
        first_partial = b.gep(partials, unit * splits * stride)
        inverse = store_factors(b, first_partial, splits, stride, zero_masked_rows=zero_masked_rows)
        for d, mask in loop_masked_vectors(b, width):
            total = b.new_slot("total", vector_type(b))
            b.store(total, zeros(b))
            with b.loop(i64(b, 0), splits, name="split") as split:
                output = load_vector(b, b.gep(first_partial, split * stride + d + PARTIAL_HEADER_FLOATS))
                factor = load_vector(b, b.gep(b.scratch, split * ALIGNED_FLOATS))
                b.store(total, b.fma(factor, output, b.load(total)))
            store_vector(b, b.load(total) * inverse, b.gep(result, d), mask)
    return b.build_module(name)


def store_factors(
    b: KernelBuilder, first_partial: str, splits: LLVMValue, stride: LLVMValue, *, zero_masked_rows: bool
) -> LLVMValue:
    """Stores the factor of each split in scratch; returns 1 / the sum of all weights, in every lane."""

    def load_header(split: LLVMValue, index: int) -> LLVMValue:
        return load_vector(b, b.gep(first_partial, split * stride + index * ALIGNED_FLOATS))

    maximum, total, visibility = (b.new_slot(name, vector_type(b)) for name in ("max", "sum", "visibility"))
    b.store(maximum, negative_infinity(b))
    b.store(total, zeros(b))
    b.store(visibility, zeros(b))
    with b.loop(i64(b, 0), splits, name="split") as split:
        split_maximum, greatest = load_header(split, MAXIMUM), b.load(maximum)
        b.store(maximum, max_skipping_nan(b, greatest, split_maximum))
        b.store(visibility, b.load(visibility) + load_header(split, VISIBILITY))
    base = softmax_base(b, b.load(maximum))
    with b.loop(i64(b, 0), splits, name="split") as split:
        factor = exp_below(b, load_header(split, MAXIMUM), base)
        store_vector(b, factor, b.gep(b.scratch, split * ALIGNED_FLOATS))
        b.store(total, b.fma(factor, load_header(split, SUM), b.load(total)))
    inverse = 1.0 / b.load(total)
    return b.select(b.load(visibility).eq(0.0), 0.0, inverse) if zero_masked_rows else inverse

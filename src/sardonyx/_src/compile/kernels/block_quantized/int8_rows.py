"""Rounding of the rows of A to int8 for products with block-quantized weights in integers: each block of k has a scale.

    scale = max |a| / 127;  q = round(a / scale), ties to even          # over the terms of a block
    a * w ~ scale * q * w, and |scale * q - a| <= scale / 2

The result is [..., M, blocks * bytes].  The bytes of a block are its scale, float32; a correction, int32; and the codes q,
int8, with zeros past the last term.  The correction is the sum of the q times the negative zero point of the weights' codes;
if blocks of the weights have different zero points, it is the sum itself.  The scale of a block is NaN if a term is NaN or
infinite, and 0 if all terms are below `MIN_MAGNITUDE`.
"""

from __future__ import annotations

import math
from functools import partial

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.block_quantized.blocks import BlockFormat
from sardonyx._src.compile.kernels.loops.memory import store_at
from sardonyx._src.compile.kernels.loops.vectors import first_lanes, i64, load_vector
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.ir.dims import Known, ceil_div, dim_product

PARAMETERS = Parameters("a", "q", "k", "a_row", "q_row")
MAX_CODE = 127
SCALE_BYTES, HEADER_BYTES = 4, 8
MIN_MAGNITUDE = 2.0**-100  # smaller blocks become zeros, since the reciprocal of a scale must be finite
# Added to a small float32, it leaves the rounded integer in the lowest bits of the sum.
ROUNDING_BIAS = 1.5 * 2.0**23
FLOPS_PER_TERM = 6


def quantized_block_bytes(format_: BlockFormat) -> int:
    """The bytes of a block of a row: a whole number of words."""
    return HEADER_BYTES + format_.words * format_.word_terms


def quantized_row_bytes(format_: BlockFormat, k: int) -> int:
    return -(-k // format_.size) * quantized_block_bytes(format_)


def quantized_rows_key(format_: BlockFormat) -> str:
    """The key of the kernel that quantizes rows: formats with one key have the same quantized rows."""
    return f"int8_blocks_{format_.size}_{format_.word_terms}_{correction_factor(format_)}"


def correction_factor(format_: BlockFormat) -> int:
    """The factor of the sum of a block's codes in its correction."""
    return 1 if format_.zero is None else -format_.zero


def quantize_rows_step(a: TensorView, quantized: TensorView, format_: BlockFormat) -> Step:
    """The step of quantized [..., M, bytes] uint8 from a [..., M, K] float32; rows are contiguous and have one stride."""
    assert a.row_stride is not None and quantized.row_stride is not None, f"rows of {a} must have one stride"
    rows: Known = dim_product(a.shape[:-1])
    k = a.shape[-1]
    source = partial(quantize_module, format_=format_, factor=correction_factor(format_))
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        a=a, q=quantized, k=k, a_row=a.row_stride, q_row=quantized.row_stride
    )
    return Step(
        Kernel(quantized_rows_key(format_), source, PARAMETERS),
        args,
        units=rows,
        reads=(a,),
        writes=(quantized,),
        flops=rows * k * FLOPS_PER_TERM,
        bytes_accessed=rows * k * 5 + rows * ceil_div(k, format_.size) * HEADER_BYTES,
    )


def quantize_module(name: str, target: Target, format_: BlockFormat, factor: int) -> str:
    """The LLVM module of the kernel: a unit of work is a row."""
    b = KernelBuilder(target, PARAMETERS)
    a, quantized = b.pointers("a", "q")
    k, a_row, q_row = b.integers("k", "a_row", "q_row")
    whole = b.udiv(k, i64(b, format_.size))
    left = k - whole * format_.size
    with b.loop(b.first_unit, b.end_unit, 1, "row") as row:
        source, result = b.gep(a, row * a_row), b.gep(quantized, row * q_row, "i8")

        def emit_block(block: LLVMValue, count: LLVMValue | None) -> None:
            address = b.gep(result, block * quantized_block_bytes(format_), "i8")
            quantize_block(b, b.gep(source, block * format_.size), count, address, format_, factor)

        with b.loop(i64(b, 0), whole, 1, "block") as block:
            emit_block(block, None)
        with b.if_then(left > 0):
            emit_block(whole, left)
    return b.build_module(name)


def quantize_block(
    b: KernelBuilder, source: str, count: LLVMValue | None, result: str, format_: BlockFormat, factor: int
) -> None:
    """Writes the scale, the correction and the codes of a block of `count` terms, or of all terms if it is None."""
    is_whole = count is None and format_.size % b.target.lanes == 0
    end = i64(b, format_.size) if count is None else count
    peak = emit_peak(b, source, end, is_whole=is_whole)
    scalar = peak.type
    is_finite, is_zero = peak < math.inf, peak < MIN_MAGNITUDE
    zero = b.constant(0.0, scalar)
    scale = b.select(is_zero, zero, peak * (1.0 / MAX_CODE))
    inverse = b.select(is_zero, zero, MAX_CODE / peak)
    terms = b.gep(result, i64(b, HEADER_BYTES), "i8")
    total = emit_codes(b, source, end, inverse, terms, format_, is_whole=is_whole)
    b.store(MemoryLocation(result, scalar), b.select(is_finite, scale, b.constant(math.nan, scalar)))
    b.store(MemoryLocation(b.gep(result, i64(b, SCALE_BYTES), "i8"), total.type), total * factor)


def emit_peak(b: KernelBuilder, source: str, count: LLVMValue, *, is_whole: bool) -> LLVMValue:
    """The largest magnitude of `count` terms, of which a NaN is the largest: as integers, magnitudes have the same order.

    is_whole: whether the terms are whole vectors.
    """
    lanes, magnitude_bits = b.target.lanes, 0x7FFFFFFF
    largest = new_sum(b)
    with b.loop(i64(b, 0), count + (lanes - 1), lanes, "vector") as i:
        x = load_vector(b, b.gep(source, i), None if is_whole else first_lanes(b, count - i))
        magnitude, greatest = x.bitcast() & magnitude_bits, b.load(largest)
        b.store(largest, b.select(greatest < magnitude, magnitude, greatest))
    peak = b.call_intrinsic("vector.reduce.smax", b.load(largest), result_type=LLVMType("i32"))
    return peak.convert("bitcast", "float")


def emit_codes(
    b: KernelBuilder,
    source: str,
    count: LLVMValue,
    inverse: LLVMValue,
    terms: str,
    format_: BlockFormat,
    *,
    is_whole: bool,
) -> LLVMValue:
    """Writes the codes of `count` terms, padded with zeros to whole words, and returns their sum, an i32."""
    lanes, padded = b.target.lanes, format_.words * format_.word_terms
    total, factor = new_sum(b), b.splat(inverse, lanes)
    with b.loop(i64(b, 0), i64(b, padded + lanes - 1), lanes, "vector") as i:
        x = load_vector(b, b.gep(source, i), None if is_whole else first_lanes(b, count - i))
        rounded = b.fma(x, factor, ROUNDING_BIAS)
        codes = (rounded.bitcast() << 24) >> 24
        b.store(total, b.load(total) + codes)
        store_codes(b, terms, i, codes.convert("trunc", "i8"), i64(b, padded))
    return b.call_intrinsic("vector.reduce.add", b.load(total), result_type=LLVMType("i32"))


def store_codes(b: KernelBuilder, terms: str, index: LLVMValue, codes: LLVMValue, end: LLVMValue) -> None:
    """Stores a vector of codes, up to the end of the block."""
    lanes = codes.type.lanes
    is_whole = index + lanes <= end
    with b.if_then(is_whole):
        store_at(b, terms, index, codes)
    with b.if_then(is_whole.eq(0)):
        b.masked_store(
            b.lane_mask(end - index, lanes), MemoryLocation(b.gep(terms, index, "i8"), codes.type), codes
        )


def new_sum(b: KernelBuilder) -> MemoryLocation:
    """A new accumulator on the stack, a vector of i32 zeros."""
    vector = LLVMType("i32", b.target.lanes)
    slot = b.new_slot("total", vector)
    b.store(slot, b.constant(0, vector))
    return slot

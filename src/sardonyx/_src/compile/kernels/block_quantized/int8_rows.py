"""Rounding of the rows of A to int8 for products with block-quantized weights in integers: each block of k has a scale.

    scale = max |a| / 127;  q = round(a / scale), ties to even          # over the terms of a block
    a * w ~ scale * q * w, and |scale * q - a| <= scale / 2

The result is [..., M, blocks * bytes].  The bytes of a block are its scale, float32; a correction, int32; and the codes q,
int8, with zeros past the last term.  The correction is the sum of the q times the negative zero point of the weights' codes;
if blocks of the weights have different zero points, it is the sum itself.  The scale of a block is NaN if a term is NaN or
infinite, and 0 if all terms are below `MIN_MAGNITUDE`.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

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


def quantize_rows_step(a: TensorView, quantized: TensorView, format_: BlockFormat) -> Step:
    """The step of quantized [..., M, bytes] uint8 from a [..., M, K] float32; rows are contiguous and have one stride."""
    assert a.row_stride is not None and quantized.row_stride is not None, f"rows of {a} must have one stride"
    rows: Known = dim_product(a.shape[:-1])
    k = a.shape[-1]
    factor = 1 if format_.zero is None else -format_.zero
    key = f"int8_blocks_{format_.size}_{format_.word_terms}_{factor}"
    source = partial(quantize_module, format_=format_, factor=factor)
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        a=a, q=quantized, k=k, a_row=a.row_stride, q_row=quantized.row_stride
    )
    return Step(
        Kernel(key, source, PARAMETERS),
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
    with b.loop(b.first_unit, b.end_unit, 1, "row") as row:
        source, result = b.gep(a, row * a_row), b.gep(quantized, row * q_row, "i8")
        with b.loop(i64(b, 0), b.udiv(k + (format_.size - 1), format_.size), 1, "block") as block:
            start = block * format_.size
            bytes_ = b.gep(result, block * quantized_block_bytes(format_), "i8")
            quantize_block(b, b.gep(source, start), b.min(k - start, format_.size), bytes_, format_, factor)
    return b.build_module(name)


def quantize_block(
    b: KernelBuilder, source: str, count: LLVMValue, result: str, format_: BlockFormat, factor: int
) -> None:
    """Writes the scale, the correction and the codes of a block of `count` terms."""
    lanes, padded = b.target.lanes, i64(b, format_.words * format_.word_terms)
    largest, poison = new_sum(b, "float"), new_sum(b, "float")
    with b.loop(i64(b, 0), count + (lanes - 1), lanes, "vector") as i:
        x = load_vector(b, b.gep(source, i), first_lanes(b, count - i))
        magnitude = b.fabs(x)
        b.store(largest, b.select(b.load(largest) < magnitude, magnitude, b.load(largest)))
        b.store(poison, b.load(poison) + (x - x))  # NaN for a NaN or an infinity
    zero = b.constant(0.0, LLVMType("float"))
    peak = b.call_intrinsic("vector.reduce.fmax", b.load(largest), result_type=zero.type)
    invalid = reduce_sum(b, b.load(poison))
    is_zero = peak < MIN_MAGNITUDE
    scale = b.select(is_zero, zero, peak * (1.0 / MAX_CODE)) + invalid
    inverse = b.splat(b.select(is_zero, zero, MAX_CODE / peak), lanes)
    total, terms = new_sum(b, "i32"), b.gep(result, i64(b, HEADER_BYTES), "i8")
    with b.loop(i64(b, 0), padded + (lanes - 1), lanes, "vector") as i:
        x = load_vector(b, b.gep(source, i), first_lanes(b, count - i))
        rounded = b.fma(x, inverse, ROUNDING_BIAS)
        codes = (rounded.bitcast() << 24) >> 24
        b.store(total, b.load(total) + codes)
        store_codes(b, terms, i, codes.convert("trunc", "i8"), padded)
    correction = b.call_intrinsic("vector.reduce.add", b.load(total), result_type=LLVMType("i32"))
    b.store(MemoryLocation(result, zero.type), scale)
    b.store(MemoryLocation(b.gep(result, i64(b, SCALE_BYTES), "i8"), correction.type), correction * factor)


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


def new_sum(b: KernelBuilder, element: Literal["float", "i32"]) -> MemoryLocation:
    """A new accumulator on the stack, a vector of zeros."""
    vector = LLVMType(element, b.target.lanes)
    slot = b.new_slot("total", vector)
    b.store(slot, b.constant(0, vector))
    return slot


def reduce_sum(b: KernelBuilder, vector: LLVMValue) -> LLVMValue:
    """The sum of the lanes of a vector in which every lane is 0 or NaN, so that the order of the additions does not matter."""
    name, scalar = f"@llvm.vector.reduce.fadd.{vector.type.suffix}", LLVMType("float")
    b.declarations[f"declare float {name}(float, {vector.type})"] = None
    return b.emit(scalar, f"call reassoc float {name}({b.constant(0.0, scalar)}, {vector})")

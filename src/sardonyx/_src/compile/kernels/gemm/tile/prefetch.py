"""Prefetches of panels: each row block of a unit prefetches a share of the next terms while it adds its own.

Prefetches occupy the line fill buffers through which the microkernel loads the panel, so they are spread over the terms.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.codegen import I64, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.dataclass import dataclass

CACHE_LINE_FLOATS = 16
CACHE_LINE_BYTES = 4 * CACHE_LINE_FLOATS


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Memory that is prefetched into L2 while a tile accumulates: `bytes_per_term` from `address` on, for each k.

    max_bytes: a power of two, at least `bytes_per_term`; one instruction is emitted for each cache line in it.
    line_stride: bytes between the cache lines of a term.
    """

    address: str
    bytes_per_term: LLVMValue | int = CACHE_LINE_BYTES
    max_bytes: int = CACHE_LINE_BYTES
    line_stride: LLVMValue | int = CACHE_LINE_BYTES


def share_bytes(b: KernelBuilder, row_bytes: int, num_blocks: LLVMValue) -> LLVMValue:
    """The bytes for each term that each of `num_blocks` row blocks prefetches of a panel with rows of `row_bytes` bytes."""
    return b.udiv(num_blocks + (row_bytes - 1), num_blocks)


def split_into_streams(b: KernelBuilder, prefetch: Prefetch, row_bytes: int, count: LLVMValue) -> Prefetch:
    """The prefetches of `count` terms, divided into a stream for each cache line of a row if one row block prefetches all.

    Memory serves several streams, each in pages of its own, faster than one.
    """
    share = prefetch.bytes_per_term
    assert isinstance(share, LLVMValue), f"the share must be a value of the run; got {share}"
    line = b.constant(CACHE_LINE_BYTES, I64)
    is_only = share.eq(row_bytes)
    bytes_per_term, line_stride = b.select(is_only, line, share), b.select(is_only, count * line, line)
    return replace(prefetch, bytes_per_term=bytes_per_term, line_stride=line_stride)


def prefetch_term(b: KernelBuilder, prefetch: Prefetch, k: LLVMValue) -> None:
    """Prefetches the bytes of term k: the `max_bytes` from its first cache line on."""
    start = b.gep(prefetch.address, k * prefetch.bytes_per_term, "i8")
    for line in range(-(-prefetch.max_bytes // CACHE_LINE_BYTES)):
        prefetch_l2(b, start, b.constant(line, I64) * prefetch.line_stride)


def prefetch_l2(b: KernelBuilder, address: str, offset: LLVMValue) -> None:
    """Prefetches the cache line of a byte into L2; its address need not be readable."""
    b.declarations["declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)"] = None
    pointer = b.gep(address, offset, "i8")
    b.lines.append(f" call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 2, i32 1)")

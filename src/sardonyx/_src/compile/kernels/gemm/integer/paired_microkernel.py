"""Microkernel for panels of paired words (`paired_panels.py`): products of bytes in int16, exact, and added to int32 sums.

    add 255 * w of the flipped weights
    for plain pair: for row: broadcast both words of A; multiply; add; widen; add
    for pair:       for row: the same, with flipped bytes of the second word
    for single:     for row: broadcast the word of A, with flipped bytes; multiply; widen; add

The words of a panel are in an order of their own, so that A is read at the numbers in the panel.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import SIGN_BITS, Int8DotEmitter, load_word
from sardonyx._src.compile.kernels.gemm.tile.accumulators import Microkernel
from sardonyx._src.compile.kernels.gemm.tile.prefetch import CACHE_LINE_BYTES, Prefetch, prefetch_l2
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PairedRows:
    """Rows of words of a panel from an address on, and the rows of A that they multiply.

    offsets: the address of int32 numbers, the bytes of A before the word of each row of the panel.
    """

    m: Microkernel
    rows: Sequence[str]
    offsets: str
    words: str
    a_is_signed: bool

    @property
    def b(self) -> KernelBuilder:
        return self.m.b

    def load(self, row: LLVMValue) -> LLVMValue:
        """A row of the panel."""
        address = self.b.gep(self.words, row * self.m.tile.lanes)
        return self.b.load(MemoryLocation(address, self.m.vector_type))

    def offset(self, row: LLVMValue) -> LLVMValue:
        """The bytes of A before the word of a row of the panel."""
        return load_int32(self.b, self.b.gep(self.offsets, row))

    def broadcast(self, a: str, offset: LLVMValue) -> LLVMValue:
        """A word of a row of A, as uint8, in all lanes."""
        word = load_word(self.b, self.b.gep(a, offset, "i8"))
        packed = self.b.splat(word, self.m.tile.lanes)
        return packed ^ SIGN_BITS if self.a_is_signed else packed


def add_paired_words(
    m: Microkernel,
    rows: Sequence[str],
    panel: str,
    k: LLVMValue,
    prefetch: Prefetch | None,
    *,
    a_is_signed: bool,
) -> None:
    """Adds the products of rows of k words of A with a panel of one vector of columns to the accumulators."""
    b, lanes = m.b, m.tile.lanes
    assert m.tile.vectors == 1, f"a panel must have one vector of columns; got {m.tile.vectors}"
    header = b.gep(panel, b.constant(lanes, I64))
    words = b.gep(header, b.udiv(k * 2 + (lanes + 1), lanes) * lanes)
    offsets = b.gep(header, b.constant(2, I64))
    if prefetch is not None:
        with b.loop(b.constant(0, I64), k * prefetch.bytes_per_term, CACHE_LINE_BYTES, "line") as byte:
            prefetch_l2(b, prefetch.address, byte)
    add_constants(m, len(rows), panel)
    plain, pairs = load_int32(b, header), load_int32(b, b.gep(header, b.constant(1, I64)))
    end_plain = plain * 2
    end_pairs = end_plain + pairs * 3
    end = end_pairs + (k - (plain + pairs) * 2) * 2
    p = PairedRows(m, rows, offsets, words, a_is_signed)
    with b.loop(b.constant(0, I64), end_plain, 2, "plain") as row:
        add_pair(p, row, None)
    with b.loop(end_plain, end_pairs, 3, "pair") as row:
        add_pair(p, row, p.load(row + 2))
    with b.loop(end_pairs, end, 2, "single") as row:
        add_single(p, row)


def add_constants(m: Microkernel, rows: int, panel: str) -> None:
    """Adds 255 * w of the flipped weights."""
    constants = m.b.load(MemoryLocation(panel, m.vector_type))
    for (total,) in m.accumulators[:rows]:
        m.b.store(total, m.b.load(total) + constants)


def add_pair(p: PairedRows, row: LLVMValue, mask: LLVMValue | None) -> None:
    """mask: the flipped bytes of the second word; None if there are none."""
    b, dot = p.b, Int8DotEmitter(p.b, p.b.target)
    first, second = p.offset(row), p.offset(row + 1)
    left, right = p.load(row), p.load(row + 1)
    for a, (total,) in zip(p.rows, p.m.accumulators, strict=False):
        x, y = p.broadcast(a, first), p.broadcast(a, second)
        y = y if mask is None else y ^ mask
        sums = dot.emit_pmaddubsw(x, left) + dot.emit_pmaddubsw(y, right)
        b.store(total, in_order(b, b.load(total) + dot.widen_sums(sums)))


def add_single(p: PairedRows, row: LLVMValue) -> None:
    b, dot = p.b, Int8DotEmitter(p.b, p.b.target)
    offset, right, mask = p.offset(row), p.load(row), p.load(row + 1)
    for a, (total,) in zip(p.rows, p.m.accumulators, strict=False):
        sums = dot.emit_pmaddubsw(p.broadcast(a, offset) ^ mask, right)
        b.store(total, in_order(b, b.load(total) + dot.widen_sums(sums)))


def load_int32(b: KernelBuilder, address: str) -> LLVMValue:
    """A number that is not negative."""
    return b.load(MemoryLocation(address, LLVMType("i32"))).convert("zext", "i64")


def in_order(b: KernelBuilder, value: LLVMValue) -> LLVMValue:
    """The value itself, computed before the loads that follow: otherwise LLVM loads all words of A first, and spills them."""
    return b.emit(value.type, f'call {value.type} asm sideeffect "", "=x,0,~{{memory}}"({value})')

"""Four bytes against four bytes: what an integer product adds to a sum of 32 bits, exactly.

Words hold four bytes each, those of A without sign, those of B with one.  `vpdpbusd` multiplies and adds all four; elsewhere
bytes become 16-bit numbers, which `pmaddwd` multiplies and adds in pairs, or 32-bit numbers.  (`pmaddubsw` would saturate.)
"""

from __future__ import annotations

from typing import TypeAlias

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.text import Code, Kind, Value

PAIRS = {
    16: ("avx512bw", "x86.avx512.pmaddw.d.512"),
    8: ("avx2", "x86.avx2.pmadd.wd"),
    4: ("sse2", "x86.sse2.pmadd.wd"),
}
Parts: TypeAlias = tuple[Value, ...]


class Bytes:
    """How a target multiplies bytes: `left` and `right` prepare words of A and of B, `added` multiplies them."""

    def __init__(self, code: Code, target: Target) -> None:
        self.code, self.lanes = code, target.lanes
        self.words = Kind("i32", target.lanes)
        features = set(target.features.split(","))
        wide = target.lanes == 16 or "+avx512vl" in features
        self.has_dot = target.lanes in (4, 8, 16) and "+avx512vnni" in features and wide
        name, self.pairs = PAIRS.get(target.lanes, ("", ""))
        self.has_pairs = f"+{name}" in features

    def left(self, words: Value) -> Parts:
        """Words of A."""
        if self.has_dot:
            return (words,)
        if self.has_pairs:
            return words & 0x00FF00FF, self.natural(words, 8) & 0x00FF00FF
        return tuple(self.natural(words, 8 * i) & 0xFF for i in range(4))

    def right(self, words: Value) -> Parts:
        """Words of B."""
        if self.has_dot:
            return (words,)
        if self.has_pairs:
            halves = self.as_halves(words)
            return self.as_words((halves << 8) >> 8), self.as_words(halves >> 8)
        return tuple((words << (24 - 8 * i)) >> 24 for i in range(4))

    def added(self, total: Value, left: Parts, right: Parts) -> Value:
        """The sum with the products of a word of A and a word of B, a lane each."""
        if self.has_dot:
            return self.dot(total, left[0], right[0])
        for a, b in zip(left, right, strict=True):
            total = total + (self.paired(a, b) if self.has_pairs else a * b)
        return total

    def dot(self, total: Value, a: Value, b: Value) -> Value:
        name = f"x86.avx512.vpdpbusd.{32 * self.lanes}"
        return self.called(
            name, self.words, total, *(self.cast(x, Kind("i8", self.lanes * 4)) for x in (a, b))
        )

    def paired(self, a: Value, b: Value) -> Value:
        return self.called(self.pairs, self.words, self.as_halves(a), self.as_halves(b))

    def called(self, name: str, kind: Kind, *operands: Value) -> Value:
        """A call of an intrinsic that has no suffix."""
        kinds, given = ", ".join(str(o.kind) for o in operands), ", ".join(map(str, operands))
        self.code.declarations[f"declare {kind} @llvm.{name}({kinds})"] = None
        return self.code.emit(kind, f"call {kind} @llvm.{name}({given})")

    def natural(self, words: Value, bits: int) -> Value:
        """Words moved down by some bits, zeros behind them."""
        return self.code.emit(words.kind, f"lshr {words}, {words.kind.constant(bits)}") if bits else words

    def as_halves(self, words: Value) -> Value:
        return self.cast(words, Kind("i16", self.lanes * 2))

    def as_words(self, halves: Value) -> Value:
        return self.cast(halves, self.words)

    def cast(self, value: Value, kind: Kind) -> Value:
        return self.code.emit(kind, f"bitcast {value} to {kind}")


def has_fast_bytes(target: Target) -> bool:
    """Whether products of bytes take less time than those of floats."""
    found = Bytes(Code(fused=False), target)
    return found.has_dot or found.has_pairs

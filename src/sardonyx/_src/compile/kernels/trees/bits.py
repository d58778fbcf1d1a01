"""Evaluation of all splits of a tree for a block of rows, one in each lane, by bit vectors (see `layouts`)."""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.memory import load_at
from sardonyx._src.compile.kernels.trees.layouts import SPLIT, WORD
from sardonyx._src.compile.kernels.trees.variant import BitKind
from sardonyx._src.compile.kernels.tuning import TreeTuning

NO_LEAF = 0x7FFFFFFF


def find_leaves(b: KernelBuilder, kind: BitKind, tree: LLVMValue, lanes: int) -> LLVMValue:
    """The leaves that the packed rows reach in a tree: [lanes] i32."""
    if kind != "long":
        return evaluate_word(b, kind, tree, lanes)
    trees = b.pointer("tree_words")
    first, end = (load_at(b, trees, tree + i, "u32").convert("zext", "i64") for i in (0, 1))
    best = b.new_slot("best", LLVMType("i32", lanes))
    b.store(best, b.constant(NO_LEAF, best.type))
    with b.loop(first, end, name="word") as word:
        leaf, least = evaluate_word(b, kind, word, lanes), b.load(best)
        b.store(best, b.select(leaf < least, leaf, least))
    return b.load(best)


def evaluate_word(b: KernelBuilder, kind: BitKind, word: LLVMValue, lanes: int) -> LLVMValue:
    """The first leaf of a word that is left in each lane; NO_LEAF if none is."""
    words = b.gep(b.pointer("words"), word, f"[{WORD.itemsize} x i8]")
    begin, end, leaf, all_bits = (load_at(b, words, b.constant(i, I64), "u32") for i in range(4))
    vector = LLVMType("i32", lanes)
    slot = b.new_slot("bits", vector)
    b.store(slot, as_signed(b.splat(all_bits, lanes)))
    unroll = TreeTuning.oblivious_unroll if kind == "oblivious" else TreeTuning.unroll_splits
    with b.loop(begin.convert("zext", "i64"), end.convert("zext", "i64"), unroll, "split") as i:
        bits = b.load(slot)
        for j in range(unroll):
            bits = apply_split(b, i + j, bits)
        b.store(slot, bits)
    bits, leaves = b.load(slot), as_signed(b.splat(leaf, lanes))
    if kind == "oblivious":
        return leaves - bits
    first = leaves + count_trailing_zeros(b, bits)
    return first if kind == "leaf" else b.select(bits.eq(0), b.constant(NO_LEAF, vector), first)


def apply_split(b: KernelBuilder, number: LLVMValue, bits: LLVMValue) -> LLVMValue:
    """The bits without those that a split clears in the lanes where it does not hold."""
    lanes = bits.type.lanes
    split = b.gep(b.pointer("splits"), number, f"[{SPLIT.itemsize} x i8]")
    threshold = load_at(b, split, b.constant(0, I64), "float")
    mask, offset = (load_at(b, split, b.constant(i, I64), "u32") for i in (1, 2))
    column = b.gep(b.scratch, offset.convert("zext", "i64"), "i8")
    numbers = load_at(b, column, b.constant(0, I64), "float", lanes)
    fails = b.emit(LLVMType("i1", lanes), f"fcmp ugt {numbers}, {b.splat(threshold, lanes).name}")
    return b.select(fails, bits & as_signed(b.splat(mask, lanes)), bits)


def as_signed(value: LLVMValue) -> LLVMValue:
    """The same bits as i32."""
    return LLVMValue(value.builder, value.type.with_element("i32"), value.name)


def count_trailing_zeros(b: KernelBuilder, bits: LLVMValue) -> LLVMValue:
    """The number of the lowest bit in each lane; 32 if there is none."""
    name, kind = f"@llvm.cttz.{bits.type.suffix}", bits.type
    b.declarations[f"declare {kind} {name}({kind}, i1 immarg)"] = None
    return b.emit(kind, f"call {kind} {name}({bits}, i1 false)")

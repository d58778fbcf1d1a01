"""Walks of one row through several trees at a time: each load of one walk overlaps with those of the others.

A step adds to the slot of a node the distance to its left child, and 1 if the split does not hold, without a branch
(Asadi, Lin and de Vries, Runtime Optimizations for Tree-Based Machine Learning Models, 2014).  Walks end when all are at
leaves, which are tested every few steps, and where walks stay.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.memory import load_at
from sardonyx._src.compile.kernels.trees.layouts import LEAF_BITS
from sardonyx._src.compile.kernels.tuning import TreeTuning

U32 = LLVMType("u32")


def walk_trees(b: KernelBuilder, row: str, tree: LLVMValue, column_bits: int) -> list[LLVMValue]:
    """The leaves that a packed row reaches in the trees from `tree` on, i32 each."""
    records, roots = b.pointers("records", "roots")
    slots = [b.new_slot("slot", I64) for _ in range(TreeTuning.chains)]
    for i, slot in enumerate(slots):
        b.store(slot, load_at(b, roots, tree + i, "u32").convert("zext", "i64"))
    head, done = b.new_label("walk"), b.new_label("leaves")
    b.enter_block(head)
    for _ in range(TreeTuning.unroll):
        packed = [step(b, row, records, slot, column_bits) for slot in slots]
    both = packed[0]
    for other in packed[1:]:
        both = both | other
    is_inner = both >= 1 << column_bits
    b.lines.append(f" br {is_inner}, label %{head}, label %{done}")
    b.start_block(done)
    thresholds = [load_at(b, records, b.load(slot) * 2, "i32") for slot in slots]
    return [threshold - LEAF_BITS for threshold in thresholds]


def step(b: KernelBuilder, row: str, records: str, slot: MemoryLocation, column_bits: int) -> LLVMValue:
    """Moves from a node to the child that the row leads to; returns the column and the distance of the node."""
    own = b.load(slot)
    record = b.gep(records, own, "i64")
    threshold = load_at(b, record, b.constant(0, I64), "float")
    packed = load_at(b, record, b.constant(1, I64), "u32")
    column = (packed & ((1 << column_bits) - 1)).convert("zext", "i64")
    distance = (packed >> column_bits).convert("zext", "i64")
    fails = b.emit(LLVMType("i1"), f"fcmp ugt {load_at(b, row, column, 'float')}, {threshold.name}")
    b.store(slot, own + distance + fails.convert("zext", "i64"))
    return packed

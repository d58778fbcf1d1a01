"""The totals of votes, [targets, lanes] float64 in memory: how they start, and how the votes of leaves are added.

Votes for a target are added in the order of the trees, so that sums have the bits of the reference kernel's.  Sums start at
-0.0, to which only a vote makes a difference, so that a total of -0.0 is that of a target without votes.  Minima and maxima
start at NaN instead.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.kernels.loops.memory import load_at, load_lanes
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.trees.variant import TreeKernelBuilder


def empty_total(b: TreeKernelBuilder, lanes: int) -> LLVMValue:
    """A total without votes, in every lane."""
    return b.constant(-0.0 if b.variant.combine == "add" else float("nan"), LLVMType("double", lanes))


def add_votes(b: TreeKernelBuilder, leaf: LLVMValue, tree: LLVMValue, totals: str, step: int) -> None:
    """Adds the votes of a leaf in each lane, [lanes] i32, to totals of targets that are `step` apart."""
    lanes = leaf.type.lanes
    weights = b.pointer("weights")
    if b.variant.votes == "tree":
        target = load_at(b, b.pointer("targets"), tree, "i32").convert("sext", "i64")
        total = b.gep(totals, target * step, "double")
        update_total(b, total, load_lanes(b, weights, leaf, b.variant.weight))
    elif b.variant.votes == "dense":
        add_dense_votes(b, leaf, totals, step)
    elif lanes == 1:
        add_sparse_votes(b, leaf, totals, step)
    else:
        numbers = b.new_slot("leaves", leaf.type)
        b.store(numbers, leaf)
        with b.loop(i64(b, 0), i64(b, lanes), name="lane") as lane:
            own = load_at(b, numbers.name, lane, "i32")
            add_sparse_votes(b, own, b.gep(totals, lane, "double"), step)


def add_dense_votes(b: TreeKernelBuilder, leaf: LLVMValue, totals: str, step: int) -> None:
    """Adds a row of the table of all leaves and targets, in each lane."""
    lanes, num_targets = leaf.type.lanes, b.integer("num_targets")
    first = leaf * b.splat(num_targets.convert("trunc", "i32"), lanes)
    with b.loop(i64(b, 0), num_targets, name="target") as target:
        entry = first + b.splat(target.convert("trunc", "i32"), lanes)
        total = b.gep(totals, target * step, "double")
        update_total(b, total, load_lanes(b, b.pointer("weights"), entry, b.variant.weight))


def add_sparse_votes(b: TreeKernelBuilder, leaf: LLVMValue, totals: str, step: int) -> None:
    """Adds the votes of one leaf."""
    weights, targets, starts = b.pointers("weights", "targets", "vote_starts")
    number = leaf.convert("sext", "i64")
    start = load_at(b, starts, number, "i64")
    end = load_at(b, starts, number + 1, "i64")
    with b.loop(start, end, name="vote") as i:
        target = load_at(b, targets, i, "i32").convert("sext", "i64")
        total = b.gep(totals, target * step, "double")
        update_total(b, total, load_at(b, weights, i, b.variant.weight))


def update_total(b: TreeKernelBuilder, address: str, weight: LLVMValue) -> None:
    """Combines totals in memory with the votes of as many lanes."""
    combine = b.variant.combine
    vote = weight if b.variant.weight == "double" else weight.convert("fpext", "double")
    memory = MemoryLocation(address, vote.type)
    total = b.load(memory)
    if combine == "add":
        b.store(memory, total + vote)
        return
    is_better = vote < total if combine == "min" else vote > total
    b.store(memory, b.select(is_better | total.ne(total), vote, total))

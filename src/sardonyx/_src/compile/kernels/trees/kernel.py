"""The kernel of trees: blocks of rows -> trees -> rows or splits.

A block is packed, its rows go through all trees, whose votes are added to totals in scratch, and the totals become
labels and scores.  A block is a unit of work, so that results do not depend on the number of threads.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import LLVMValue, Target
from sardonyx._src.compile.kernels.loops.memory import store_at
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.trees.bits import find_leaves
from sardonyx._src.compile.kernels.trees.pack import pack_rows
from sardonyx._src.compile.kernels.trees.scores import finish_rows
from sardonyx._src.compile.kernels.trees.totals import add_votes, empty_total
from sardonyx._src.compile.kernels.trees.variant import TreeKernelBuilder, TreeVariant
from sardonyx._src.compile.kernels.trees.walk import walk_trees
from sardonyx._src.compile.kernels.tuning import TreeTuning, tuning_for


def tree_module(name: str, target: Target, variant: TreeVariant) -> str:
    """The kernel of a variant."""
    b = TreeKernelBuilder(target, variant)
    rows, block_rows = b.integers("rows", "block_rows")
    with b.loop(b.first_unit, b.end_unit, name="block") as block:
        first = block * block_rows
        count = b.min(rows - first, block_rows)
        if variant.bits == "none":
            walk_rows(b, first, count)
        else:
            with b.if_then(count <= TreeTuning.max_walked_rows):
                walk_block(b, first, count, 1)
            lanes = block_lanes(target)
            with b.if_then((count > TreeTuning.max_walked_rows) & (count <= lanes // 2)):
                evaluate_block(b, first, count, lanes // 2)
            with b.if_then((count > TreeTuning.max_walked_rows) & (count > lanes // 2)):
                evaluate_block(b, first, count, lanes)
    return b.build_module(name)


def walk_rows(b: TreeKernelBuilder, first: LLVMValue, count: LLVMValue) -> None:
    """The rows of a block; where classes compete, many rows are finished together."""
    lanes = b.target.lanes
    if b.variant.result != "classes" or lanes == 1:
        walk_block(b, first, count, 1)
        return
    with b.if_then(count <= TreeTuning.max_walked_rows):
        walk_block(b, first, count, 1)
    with b.if_then(count > TreeTuning.max_walked_rows):
        walk_block(b, first, count, lanes)


def walk_block(b: TreeKernelBuilder, first: LLVMValue, count: LLVMValue, lanes: int) -> None:
    """The rows of a block one by one, each through several trees at a time.

    lanes: the rows that are finished together; totals are [rows / lanes, targets, lanes].
    """
    targets, chains = b.integer("num_targets"), TreeTuning.chains
    pack_rows(b, b.variant, first, count, None)
    totals, row_size, shift = b.totals, b.integer("columns") + 1, lanes.bit_length() - 1
    groups = (count + (lanes - 1)) >> shift
    with b.loop(i64(b, 0), groups * targets, name="total") as i:
        store_at(b, totals, i * lanes, empty_total(b, lanes))
    all_trees = b.integer("packed_trees")
    with b.loop(i64(b, 0), all_trees, chains, "tree") as tree, b.loop(i64(b, 0), count, name="row") as row:
        own = b.gep(totals, (row >> shift) * targets * lanes + (row & (lanes - 1)), "double")
        leaves = walk_trees(b, b.gep(b.scratch, row * row_size), tree, b.variant.column_bits)
        for chain, leaf in enumerate(leaves):
            add_votes(b, leaf, tree + chain, own, lanes)
    with b.loop(i64(b, 0), groups, name="group") as group:
        start = group * lanes
        own = b.gep(totals, start * targets, "double")
        finish_rows(b, own, first + start, b.min(count - start, lanes), lanes)


def evaluate_block(b: TreeKernelBuilder, first: LLVMValue, count: LLVMValue, lanes: int) -> None:
    """All rows of a block together, tree by tree, by bit vectors; lanes: at least as many as there are rows."""
    pack_rows(b, b.variant, first, count, lanes, block_lanes(b.target))
    totals = b.totals
    with b.loop(i64(b, 0), b.integer("num_targets"), name="total") as i:
        store_at(b, totals, i * lanes, empty_total(b, lanes))
    with b.loop(i64(b, 0), b.integer("trees"), name="tree") as tree:
        add_votes(b, find_leaves(b, b.variant.bits, tree, lanes), tree, totals, lanes)
    finish_rows(b, totals, first, count, lanes)


def block_lanes(target: Target) -> int:
    """The rows of a block that is evaluated by bit vectors."""
    return target.lanes * tuning_for(target).trees.vectors

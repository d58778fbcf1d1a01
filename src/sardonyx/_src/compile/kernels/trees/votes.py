"""The votes of leaves as tables, and the code that adds those of a leaf to the totals of its rows.

Totals are float64, and the votes for a target are added in the order of the trees, so that sums have the bits of the
reference kernel's.  Totals start at -0.0, to which only a vote can make a difference: weights of -0.0 are stored as 0.0,
which sums to the same, so that a total of -0.0 is that of a target without votes, and adding -0.0 is no vote.
Minima and maxima start at NaN instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.memory import load_at, load_lanes
from sardonyx._src.compile.kernels.trees.levels import Levels
from sardonyx._src.compile.kernels.vectors import i64
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.ml.forest import Forest, Ints

VoteKind: TypeAlias = Literal["tree", "dense", "sparse"]
Combine: TypeAlias = Literal["add", "min", "max"]
DOUBLE = LLVMType("double")
# Of a table of all leaves and targets, times the votes: where leaves are added one by one, or in many lanes at a time.
MAX_DENSE_GROWTH, MAX_DENSE_GROWTH_IN_LANES = 4, 16


@dataclass(frozen=True, slots=True, eq=False)
class VoteTable:
    """The votes of numbered leaves, float32 if all weights are, else float64; the last leaf has none.

    tree: weights [leaves], at most one vote of each leaf; targets [trees], the target of the votes of each tree.
    dense: weights [leaves, targets].
    sparse: weights and targets [votes]; those of leaf n are at starts[n] to starts[n + 1].
    """

    kind: VoteKind
    weights: Array
    targets: Array
    starts: Array


def vote_table(
    forest: Forest,
    leaves: Ints,
    levels: Levels | None,
    trees: int,
    targets: int,
    combine: Combine,
    max_growth: int,
) -> VoteTable:
    """leaves: the leaf of the forest of each number.  trees: their number, with those that pad the last chain.

    max_growth: of a table of all leaves and targets, times the votes.
    """
    counts = np.append(forest.starts[leaves + 1] - forest.starts[leaves], 0)
    starts = np.concatenate([[0], np.cumsum(counts)])
    votes = np.arange(starts[-1]) + np.repeat(np.append(forest.starts[leaves], 0) - starts[:-1], counts)
    target, weight = forest.vote_target[votes], stored_weights(forest.vote_weight[votes])
    none = np.array(-0.0 if combine == "add" else np.nan, weight.dtype)
    owner = np.repeat(np.arange(len(counts)), counts)
    tree_targets = targets_of_trees(owner, target, levels, trees, targets)
    if counts.max(initial=0) <= 1 and tree_targets is not None:
        single = np.full(len(counts), none)
        single[owner] = weight
        return VoteTable("tree", single, tree_targets, np.zeros(1, np.int32))
    places = owner * targets + target
    entries = len(counts) * targets
    if entries <= max_growth * len(votes) and entries < 1 << 31 and len(np.unique(places)) == len(places):
        dense = np.full(len(counts) * targets, none)
        dense[places] = weight
        return VoteTable("dense", dense, np.zeros(1, np.int32), np.zeros(1, np.int32))
    return VoteTable("sparse", padded(weight), padded(target.astype(np.int32)), starts.astype(np.int64))


def padded(array: Array) -> Array:
    """The array, with one element if it is empty."""
    return array if len(array) else np.zeros(1, array.dtype)


def stored_weights(weight: Array) -> Array:
    """The weights without -0.0, as float32 if that is exact."""
    weight = weight + 0.0
    with np.errstate(all="ignore"):
        narrow = weight.astype(np.float32)
    return narrow if np.array_equal(narrow, weight, equal_nan=True) else weight


def targets_of_trees(
    owner: Ints, target: Ints, levels: Levels | None, trees: int, targets: int
) -> Array | None:
    """The target that all votes of each tree have; None if they differ, or several trees may share leaves."""
    result = np.zeros(trees, np.int32)
    if targets == 1:
        return result
    if levels is None:
        return None
    tree = np.searchsorted(levels.tree_starts, owner, side="right") - 1
    result[tree] = target
    return result if (result[tree] == target).all() else None


@dataclass(frozen=True, slots=True)
class Votes:
    """The addition of votes to totals, [targets, lanes] float64."""

    b: KernelBuilder
    kind: VoteKind
    combine: Combine
    element: Element
    num_targets: LLVMValue

    def start(self, lanes: int) -> LLVMValue:
        """A total without votes."""
        return self.b.constant(-0.0 if self.combine == "add" else float("nan"), LLVMType("double", lanes))

    def add(self, leaf: LLVMValue, tree: LLVMValue, totals: str, step: int) -> None:
        """Adds the votes of a leaf in each lane, [lanes] i32, to totals of targets that are `step` apart."""
        b, lanes = self.b, leaf.type.lanes
        weights = b.pointer("weights")
        if self.kind == "tree":
            target = load_at(b, b.pointer("targets"), tree, "i32").convert("sext", "i64")
            self.update(b.gep(totals, target * step, "double"), load_lanes(b, weights, leaf, self.element))
        elif self.kind == "dense":
            self.add_dense(leaf, weights, totals, step)
        elif lanes == 1:
            self.add_list(leaf, totals, step)
        else:
            numbers = b.new_slot("leaves", leaf.type)
            b.store(numbers, leaf)
            with b.loop(i64(b, 0), i64(b, lanes), name="lane") as lane:
                own = load_at(b, numbers.name, lane, "i32")
                self.add_list(own, b.gep(totals, lane, "double"), step)

    def add_dense(self, leaf: LLVMValue, weights: str, totals: str, step: int) -> None:
        """Adds a row of the table of all leaves and targets."""
        b, lanes = self.b, leaf.type.lanes
        first = leaf * b.splat(self.num_targets.convert("trunc", "i32"), lanes)
        with b.loop(i64(b, 0), self.num_targets, name="target") as target:
            place = first + b.splat(target.convert("trunc", "i32"), lanes)
            self.update(b.gep(totals, target * step, "double"), load_lanes(b, weights, place, self.element))

    def add_list(self, leaf: LLVMValue, totals: str, step: int) -> None:
        """Adds the votes of one leaf to totals that are `step` apart."""
        b = self.b
        weights, targets, starts = b.pointers("weights", "targets", "vote_starts")
        number = leaf.convert("sext", "i64")
        with b.loop(
            load_at(b, starts, number, "i64"), load_at(b, starts, number + 1, "i64"), name="vote"
        ) as i:
            target = load_at(b, targets, i, "i32").convert("sext", "i64")
            self.update(b.gep(totals, target * step, "double"), load_at(b, weights, i, self.element))

    def update(self, address: str, weight: LLVMValue) -> None:
        """Combines totals in memory with the votes of as many lanes."""
        b = self.b
        vote = weight if self.element == "double" else weight.convert("fpext", "double")
        memory = StackSlot(address, vote.type)
        total = b.load(memory)
        if self.combine == "add":
            b.store(memory, total + vote)
            return
        is_better = vote < total if self.combine == "min" else vote > total
        b.store(memory, b.select(is_better | total.ne(total), vote, total))

"""An ensemble of trees in the layouts of its kernel, and the step that evaluates it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.kernels.trees.columns import Columns, columns_of
from sardonyx._src.compile.kernels.trees.kernel import block_lanes, tree_module
from sardonyx._src.compile.kernels.trees.layouts import BitTable, WalkTable, bit_table, walk_table
from sardonyx._src.compile.kernels.trees.levels import Levels, levels_of
from sardonyx._src.compile.kernels.trees.splits import splits_of
from sardonyx._src.compile.kernels.trees.variant import PARAMETERS, BitKind, ResultKind, TreeVariant
from sardonyx._src.compile.kernels.trees.votes import (
    MAX_DENSE_GROWTH,
    MAX_DENSE_GROWTH_IN_LANES,
    Combine,
    VoteTable,
    vote_table,
)
from sardonyx._src.compile.kernels.tuning import TreeTuning, tuning_for
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import dim_product
from sardonyx._src.ops.ml.forest import Forest

COMBINES: dict[str, Combine] = {"SUM": "add", "AVERAGE": "add", "MIN": "min", "MAX": "max"}


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Trees for features of a type, and how their votes become results.

    base: [targets] float64, added to the aggregates.  labels: [classes] int64; None for scores alone.
    every_class: whether classes without votes may win.
    """

    forest: Forest
    dtype: DataType
    targets: int
    function: str
    post: str
    base: Array
    result: ResultKind = "scores"
    labels: Array | None = None
    every_class: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class TreeTables:
    """The tables of an ensemble for a target; bits: None where walks are faster.  steps: those of a row, about."""

    columns: Columns
    walk: WalkTable
    bits: BitTable | None
    votes: VoteTable
    steps: float

    @property
    def bit_kind(self) -> BitKind:
        if self.bits is None:
            return "none"
        return "oblivious" if self.bits.is_oblivious else "long" if self.bits.has_long_trees else "leaf"


def tables_of(ensemble: Ensemble, target: Target) -> TreeTables | None:
    """The tables; None for an ensemble beyond their limits."""
    splits = splits_of(ensemble.forest)
    columns = columns_of(splits, is_ranked=ensemble.dtype is not DataType.FLOAT)
    if columns is None:
        return None
    levels = levels_of(splits)
    walk = walk_table(splits, columns, levels, TreeTuning.chains)
    if walk is None:
        return None
    bits = None
    if levels is not None and tuning_for(target).trees.vectors and target.lanes > 1:
        bits = bit_table(splits, columns, levels, 4 * block_lanes(target), TreeTuning.unroll_splits)
        bits = bits if is_faster(bits, levels, target) else None
    growth = MAX_DENSE_GROWTH if bits is None else MAX_DENSE_GROWTH_IN_LANES
    combine, trees = COMBINES[ensemble.function], len(walk.roots)
    votes = vote_table(ensemble.forest, walk.leaves, levels, trees, ensemble.targets, combine, growth)
    return TreeTables(columns, walk, bits, votes, float(len(splits)) if levels is None else levels.steps)


def is_faster(bits: BitTable, levels: Levels, target: Target) -> bool:
    """Whether bit vectors are faster than walks, for a whole block of rows."""
    tuning = tuning_for(target).trees
    splits = len(bits.splits) + tuning.word_splits * len(bits.words)
    return splits < tuning.splits_per_step * levels.steps and len(bits.splits) < 1 << 31


def tree_step(
    ensemble: Ensemble,
    tables: TreeTables,
    target: Target,
    x: TensorView,
    scores: TensorView,
    labels: TensorView | None,
    constant: Callable[[Array], TensorView],
) -> Step:
    """x: [rows, ...] or [features], dense.  scores: [rows, targets].  labels: [rows] int64; None for scores alone.

    constant: a tensor of constant data.
    """
    columns, bits, votes = tables.columns, tables.bits, tables.votes
    variant = TreeVariant(
        LLVM_ELEMENTS[x.dtype],
        LLVM_ELEMENTS[scores.dtype],
        tables.walk.column_bits,
        tables.bit_kind,
        votes.kind,
        LLVM_ELEMENTS[DataType.of(votes.weights.dtype)],
        COMBINES[ensemble.function],
        ensemble.result,
        ensemble.post if ensemble.targets > 1 or ensemble.post == "PROBIT" else "NONE",
    )
    rows = scores.shape[0]
    lanes = TreeTuning.block_rows if bits is None else block_lanes(target)
    trees, targets = len(ensemble.forest.roots), ensemble.targets
    packed_bytes = (len(columns) + 1) * lanes * 4
    totals = -(-packed_bytes // 64) * 64
    spare = totals + targets * lanes * 8
    nothing = constant(np.zeros(1, np.int64))
    constants = {
        "features": constant(padded(columns.feature)),
        "signs": constant(padded(columns.sign)),
        "edge_starts": constant(columns.starts),
        "edges": constant(padded(columns.edges)),
        "records": constant(tables.walk.records.view(np.int64)),
        "roots": constant(tables.walk.roots),
        "splits": nothing if bits is None else constant(padded(bits.splits.view(np.uint32))),
        "words": nothing if bits is None else constant(bits.words.view(np.uint32)),
        "tree_words": nothing if bits is None else constant(bits.trees),
        "weights": constant(votes.weights),
        "targets": constant(votes.targets),
        "vote_starts": constant(votes.starts),
        "base": constant(ensemble.base),
        "class_labels": nothing if ensemble.labels is None else constant(ensemble.labels),
    }
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x,
        y=scores,
        labels=scores if labels is None else labels,
        **constants,
        rows=rows,
        row_length=dim_product(x.shape[1:]) if x.rank > 1 else x.shape[0],
        columns=len(columns),
        trees=trees,
        packed_trees=len(tables.walk.roots),
        num_targets=targets,
        divisor=max(1, trees) if ensemble.function == "AVERAGE" else 1,
        block_rows=lanes,
        totals=totals,
        spare=spare,
        every_class=int(ensemble.every_class),
    )
    return Step(
        Kernel(variant.key, partial(tree_module, variant=variant), PARAMETERS),
        args,
        -(-rows // lanes),
        (x, *constants.values()),
        (scores,) if labels is None else (scores, labels),
        flops=rows * int(tables.steps * TreeTuning.step_flops + len(columns) + 16 * targets),
        bytes_accessed=x.nbytes + scores.nbytes + sum(t.buffer.size for t in constants.values()),
        scratch=spare + lanes * 8,
    )


def padded(array: Array) -> Array:
    """The array, with one element if it is empty."""
    return array if len(array) else np.zeros(1, array.dtype)

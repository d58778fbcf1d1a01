"""From the totals of votes to labels and scores: base values, argmax, post transforms, all in float64.

Functions of a block of rows, one in each lane; totals and scores are [targets, lanes] in scratch.
"""

from __future__ import annotations

import math

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.element_types import convert
from sardonyx._src.compile.codegen.math.double_precision import exp
from sardonyx._src.compile.codegen.math.probit import probit
from sardonyx._src.compile.kernels.loops.memory import load_at, store_at
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.trees.variant import TreeKernelBuilder
from sardonyx._src.ops.ml.post_transforms import NEARLY_ZERO

NO_VOTE_BITS = -(1 << 63)  # of -0.0
SECOND_CLASS_ABOVE = 0.5  # the score above which the second class wins if scores are not signed


def finish_rows(b: TreeKernelBuilder, totals: str, first: LLVMValue, count: LLVMValue, lanes: int) -> None:
    """Writes labels and scores of `count` rows from `first` on, given their totals, which it overwrites."""
    block = Scores(b, totals, lanes)
    match b.variant.result:
        case "scores":
            block.add_base()
        case "classes":
            write_labels(b, block.choose_class(), first, count, lanes)
            block.add_base()
        case "second_class" | "signed_second_class":
            block.add_base()
            write_labels(b, block.is_second(), first, count, lanes)
        case "first_class" | "signed_first_class":
            block.add_base()
            write_labels(b, block.is_second(), first, count, lanes)
            block.derive_first_class()
            write_scores(b, block, first, count)
            return
    block.apply_post_transform(b.variant.post)
    write_scores(b, block, first, count)


class Scores:
    """The scores of a block of rows."""

    def __init__(self, b: TreeKernelBuilder, address: str, lanes: int) -> None:
        self.b, self.address, self.lanes = b, address, lanes
        self.type = LLVMType("double", lanes)
        self.count = b.integer("num_targets")

    def load(self, target: LLVMValue | int) -> LLVMValue:
        return load_at(self.b, self.address, self.b.as_value(target, I64) * self.lanes, "double", self.lanes)

    def store(self, target: LLVMValue | int, value: LLVMValue) -> None:
        store_at(self.b, self.address, self.b.as_value(target, I64) * self.lanes, value)

    def aggregate(self, target: LLVMValue) -> LLVMValue:
        """The aggregate of a target with its base value, from its total."""
        b, total = self.b, self.load(target)
        if b.variant.combine == "add":
            divisor = convert(b, b.integer("divisor"), "double")
            total = total / b.splat(divisor, self.lanes)
        else:
            total = b.select(total.ne(total), 0.0, total)
        return total + b.splat(load_at(b, b.pointer("base"), target, "double"), self.lanes)

    def add_base(self) -> None:
        with self.b.loop(i64(self.b, 0), self.count, name="target") as target:
            self.store(target, self.aggregate(target))

    def choose_class(self) -> LLVMValue:
        """The class with the highest score, [lanes] i64: the first of equal ones, NaN above all numbers."""
        b, numbers = self.b, LLVMType("i64", self.lanes)
        best, chosen = b.new_slot("best", self.type), b.new_slot("chosen", numbers)
        b.store(best, b.constant(-math.inf, self.type))
        b.store(chosen, b.constant(0, numbers))
        every = b.splat(b.integer("every_class").ne(0), self.lanes)
        with b.loop(i64(b, 0), self.count, name="class") as target:
            is_voted = every | self.load(target).bitcast().ne(NO_VOTE_BITS)
            score = b.select(is_voted, self.aggregate(target), b.constant(-math.inf, self.type))
            top = b.load(best)
            is_better = (score > top) | (score.ne(score) & top.eq(top))
            b.store(best, b.select(is_better, score, top))
            b.store(chosen, b.select(is_better, b.splat(target, self.lanes), b.load(chosen)))
        return b.load(chosen)

    def is_second(self) -> LLVMValue:
        """1 where the second of two classes wins, 0 elsewhere, by the score of the only one that is voted for."""
        only = 1 if "second" in self.b.variant.result else 0
        limit = 0.0 if "signed" in self.b.variant.result else SECOND_CLASS_ABOVE
        return (self.load(only) > limit).convert("zext", "i64")

    def derive_first_class(self) -> None:
        """The scores of both classes from that of the second."""
        b, score, post = self.b, self.load(0), self.b.variant.post
        if post == "LOGISTIC":
            first, second = logistic(b, -score), logistic(b, score)
        elif post == "PROBIT":
            second = probit(b, score)
            first = -second
        else:
            first = -score if b.variant.result == "signed_first_class" else 1.0 - score
            second = score
        self.store(0, first)
        self.store(1, second)

    def apply_post_transform(self, post: str) -> None:
        b = self.b
        if post in ("SOFTMAX", "SOFTMAX_ZERO"):
            self.softmax(leave_zeros=post == "SOFTMAX_ZERO")
        elif post != "NONE":
            with b.loop(i64(b, 0), self.count, name="score") as target:
                score = self.load(target)
                self.store(target, logistic(b, score) if post == "LOGISTIC" else probit(b, score))

    def softmax(self, *, leave_zeros: bool) -> None:
        """Softmax of the scores; leave_zeros: those near 0 are scaled as if they were weights already."""
        b, top, total = self.b, self.b.new_slot("top", self.type), self.b.new_slot("sum", self.type)
        b.store(top, b.constant(-math.inf, self.type))
        b.store(total, b.constant(0.0, self.type))
        with b.loop(i64(b, 0), self.count, name="score") as target:
            score, highest = self.load(target), b.load(top)
            b.store(top, b.select(score > highest, score, highest))
        highest = b.load(top)
        with b.loop(i64(b, 0), self.count, name="score") as target:
            score = self.load(target)
            weight = exp(b, score - highest)
            if leave_zeros:
                weight = b.select(b.fabs(score) > NEARLY_ZERO, weight, score * exp(b, -highest))
            self.store(target, weight)
            b.store(total, b.load(total) + weight)
        sum_ = b.load(total)
        with b.loop(i64(b, 0), self.count, name="score") as target:
            self.store(target, self.load(target) / sum_)


def logistic(b: TreeKernelBuilder, x: LLVMValue) -> LLVMValue:
    return 1.0 / (exp(b, -x) + 1.0)


def write_labels(
    b: TreeKernelBuilder, chosen: LLVMValue, first: LLVMValue, count: LLVMValue, lanes: int
) -> None:
    """Writes the labels of the chosen classes, [lanes] i64."""
    b.store(MemoryLocation(b.spare, chosen.type), chosen)
    labels, names = b.pointers("labels", "class_labels")
    with b.loop(i64(b, 0), count, name="row") as row:
        label = load_at(b, names, load_at(b, b.spare, row, "i64"), "i64")
        store_at(b, labels, first + row, label)


def write_scores(b: TreeKernelBuilder, scores: Scores, first: LLVMValue, count: LLVMValue) -> None:
    """Writes scores as rows of y."""
    y = b.pointer("y")
    with (
        b.loop(i64(b, 0), count, name="row") as row,
        b.loop(i64(b, 0), scores.count, name="target") as target,
    ):
        score = load_at(b, scores.address, target * scores.lanes + row, "double")
        store_at(b, y, (first + row) * scores.count + target, convert(b, score, b.variant.y))

"""Connectionist temporal classification (Graves et al., 2006, section 4.1): the forward recursion in logarithms, as a Scan."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sardonyx._src.arguments import require_flag, require_integer
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Graph, TensorType, Value
from sardonyx._src.train.algorithm_builder import AlgorithmBuilder
from sardonyx._src.train.losses.base import (
    Labels,
    Loss,
    LossContext,
    LossValues,
    Reduction,
    check_reduction,
)

IMPOSSIBLE = -1e30  # stands for log 0: the gradients of -inf would be NaN


@dataclass(frozen=True)
class CTC(Loss):
    """Minus the log probability of a sequence of labels, summed over all alignments with the steps of the prediction.

    The prediction is [steps, batch, classes], or [batch, steps, classes] with `batch_first`: logits or log probabilities.
    The training step gets three inputs, all int64: `target` [batch, length], the labels; `target_input_lengths` [batch], the
    number of steps of each example; and `target_lengths` [batch], the number of its labels (`target` is the target's name).
    The mean is over examples, each divided by its number of labels.
    blank: the class that separates labels.
    zero_infinity: whether examples without any alignment count as 0 instead of infinity.
    """

    blank: int = 0
    reduction: Reduction = "mean"
    batch_first: bool = False
    zero_infinity: bool = False

    def __post_init__(self) -> None:
        check_reduction(self.reduction)
        require_integer("blank", self.blank, 0)
        require_flag("batch_first", self.batch_first)
        require_flag("zero_infinity", self.zero_infinity)

    def build(self, context: LossContext) -> LossValues:
        if len(context.shape) != 3:
            raise InputError(
                f"the prediction must be [steps, batch, classes]; got rank {len(context.shape)}",
                name="output",
            )
        b, scores = context.b, context.prediction
        batch, classes = context.shape[0 if self.batch_first else 1], context.shape[2]
        known = Labels(classes if isinstance(classes, int) else None)
        labels = context.target(DataType.INT64, (batch, None), labels=known)
        steps = context.target(DataType.INT64, (batch,), suffix="_input_lengths")
        lengths = context.target(DataType.INT64, (batch,), suffix="_lengths")
        if self.batch_first:
            scores = b.Transpose(scores, perm=[1, 0, 2])
        log_p = b.LogSoftmax(scores, axis=2)
        states = add_blanks(b, labels, self.blank)
        forward = self.forward(context, log_p, states, steps)
        losses = self.losses(context, forward, lengths)
        return LossValues(context.reduce(losses, self.reduction))

    def forward(self, context: LossContext, log_p: Value, states: Value, steps: Value) -> Value:
        """The log probability of each prefix after the last step of each example: [batch, states]."""
        b = context.b
        blank = b.scalar(self.blank, DataType.INT64)
        before = shift(b, states, 2, blank)
        may_skip = b.And(b.Not(b.Equal(states, blank)), b.Not(b.Equal(states, before)))
        zeros = b.Cast(b.Sub(states, states), to=context.dtype)
        start = shift(b, b.Add(zeros, context.scalar(IMPOSSIBLE)), 1, context.scalar(0))
        count = b.Gather(b.Shape(log_p), b.scalar(0, DataType.INT64), axis=0)
        times = b.Range(b.scalar(0, DataType.INT64), count, b.scalar(1, DataType.INT64))
        column = b.Unsqueeze(steps, b.integers([1]))
        body = self.step_graph(context, states, may_skip, column)
        return b.op("Scan", start, log_p, times, body=body, num_scan_inputs=2)

    def step_graph(self, context: LossContext, states: Value, may_skip: Value, steps: Value) -> Graph:
        """The body of the Scan: one step of the recursion.

        A prefix is reached from itself, from the prefix before it, or, if a blank lies between two different labels, from the
        prefix before that blank.
        """
        outer = context.b
        body = Graph(outer.fresh_names.fresh("train_ctc_step"))
        b = AlgorithmBuilder(body, outer.imports[""], outer.fresh_names)
        old, log_p, time = (
            body.add_input(Value(b.fresh_names.fresh(name), type))
            for name, type in (
                ("train_ctc_old", TensorType(context.dtype)),
                ("train_ctc_scores", TensorType(context.dtype)),
                ("train_ctc_time", TensorType(DataType.INT64, ())),
            )
        )
        impossible = b.scalar(IMPOSSIBLE, context.dtype)
        from_one, from_two = shift(b, old, 1, impossible), shift(b, old, 2, impossible)
        total = log_sum(b, [old, from_one, b.Where(may_skip, from_two, impossible)])
        new = b.Add(total, b.GatherElements(log_p, states, axis=1))
        result = b.Where(b.Less(time, steps), new, old)
        result.type = TensorType(context.dtype)
        body.outputs = [result]
        return body

    def losses(self, context: LossContext, forward: Value, lengths: Value) -> Value:
        """Minus the log probability of each example, [batch]: alignments end in the last label or in the blank after it."""
        b = context.b
        zero, unit = b.scalar(0, DataType.INT64), b.scalar(1, DataType.INT64)
        last = b.Unsqueeze(b.Add(lengths, lengths), b.integers([1]))
        in_blank = b.GatherElements(forward, last, axis=1)
        in_label = b.GatherElements(forward, b.Max(b.Sub(last, unit), zero), axis=1)
        has_label = b.Greater(last, zero)
        total = log_sum(b, [in_blank, b.Where(has_label, in_label, context.scalar(IMPOSSIBLE))])
        losses = b.Neg(b.Squeeze(total, b.integers([1])))
        missing = context.scalar(0.0 if self.zero_infinity else math.inf)
        losses = b.Where(b.Greater(losses, context.scalar(-IMPOSSIBLE / 10)), missing, losses)
        if self.reduction == "sum":
            return losses
        return b.Div(losses, b.Cast(b.Max(lengths, unit), to=context.dtype))


def add_blanks(b: AlgorithmBuilder, labels: Value, blank: int) -> Value:
    """Labels [batch, length] with a blank before, between and after them: [batch, 2 length + 1]."""
    blanks = b.Add(b.Sub(labels, labels), b.scalar(blank, DataType.INT64))
    axis = b.integers([2])
    pairs = b.Concat(b.Unsqueeze(blanks, axis), b.Unsqueeze(labels, axis), axis=2)
    flat = b.Reshape(pairs, b.integers([0, -1]))
    return b.Pad(flat, b.integers([0, 0, 0, 1]), b.scalar(blank, DataType.INT64))


def shift(b: AlgorithmBuilder, rows: Value, count: int, fill: Value) -> Value:
    """Rows [batch, n] moved right by `count`, with `fill` on the left."""
    padded = b.Pad(rows, b.integers([0, count, 0, 0]), fill)
    return b.Slice(padded, b.integers([0]), b.integers([-count]), b.integers([1]))


def log_sum(b: AlgorithmBuilder, terms: list[Value]) -> Value:
    """The logarithm of the sum of exponentials of the terms; the largest term is subtracted first to avoid overflow."""
    largest = b.Max(*terms)
    parts = [b.Exp(b.Sub(term, largest)) for term in terms]
    return b.Add(largest, b.Log(b.Sum(*parts)))

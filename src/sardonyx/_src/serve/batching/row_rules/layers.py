"""Layers of neural networks, for which the entries of the first axis are samples: convolution, pooling, attention, recurrence."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.serve.batching.row_step import MIXED, RowAxis, RowStep, normalized, row_rule


@row_rule(
    *"Conv ConvInteger ConvTranspose QLinearConv AveragePool LpPool GlobalAveragePool GlobalMaxPool GlobalLpPool".split(),
    *"InstanceNormalization GroupNormalization LRN DepthToSpace SpaceToDepth".split(),
)
def samples(step: RowStep) -> RowAxis:
    """Each entry of the first axis is computed by itself, if all other operands are constant."""
    return 0 if step.batched(0) == 0 and step.are_others_constant(0) else MIXED


@row_rule("MaxPool")
def max_pool(step: RowStep) -> Sequence[RowAxis]:
    return samples(step), MIXED  # indices count elements of the whole batch


@row_rule("BatchNormalization")
def batch_normalization(step: RowStep) -> RowAxis:
    return MIXED if step.integer("training_mode", 0) else samples(step)


@row_rule("Dropout")
def dropout(step: RowStep) -> RowAxis:
    modes = step.constant_integers(2)
    return step.axis(0) if modes is not None and not any(modes) else MIXED


@row_rule("QuantizeLinear", "DequantizeLinear")
def quantization(step: RowStep) -> RowAxis:
    """Rows are independent with one constant scale, or with one for each entry of another axis than the batch axis."""
    batch, rank, scales = step.batched(0), step.rank(0), step.shape(1)
    if batch is None or rank is None or scales is None or not step.is_constant(1, 2):
        return MIXED
    if scales in ((), (1,)):
        return batch
    is_other_axis = normalized(step.integer("axis", 1), rank) != batch
    return batch if len(scales) == 1 and is_other_axis else MIXED


@row_rule("Attention")
def attention(step: RowStep) -> RowAxis:
    """Queries, keys, values, caches and lengths must be batched along axis 0; the mask, too, unless all samples share it."""
    if not all(step.batched(i) == 0 for i in (0, 1, 2)):
        return MIXED
    if not all(step.batched(i) == 0 for i in (4, 5, 6) if step.has(i)):
        return MIXED
    if step.has(3) and not (step.batched(3) == 0 and step.rank(3) == 4):
        return 0 if step.is_constant(3) and step.has_extent_1(3, 4) else MIXED
    return 0


@row_rule("RotaryEmbedding")
def rotary_embedding(step: RowStep) -> RowAxis:
    if step.batched(0) != 0:
        return MIXED
    if step.has(3):
        return 0 if step.batched(3) == 0 and step.is_constant(1, 2) else MIXED
    return 0 if step.batched(1) == 0 and step.batched(2) == 0 else MIXED


@row_rule("LSTM", "GRU", "RNN")
def recurrent_layer(step: RowStep) -> Sequence[RowAxis]:
    """Samples lie along axis 1 of X and the initial states, and axis 0 of the lengths; with layout 1, along axis 0 of all."""
    samples_axis = 0 if step.integer("layout", 0) else 1
    weights = (1, 2, 3, *((7,) if step.node.op_type == "LSTM" else ()))
    states = tuple(i for i in (5, 6) if step.has(i))
    fits = step.batched(0) == samples_axis and step.is_constant(*weights)
    fits = fits and all(step.batched(i) == samples_axis for i in states)
    if not fits or (step.has(4) and step.batched(4) != 0):
        return [MIXED] * len(step.node.outputs)
    return [0 if samples_axis == 0 else 2, samples_axis, samples_axis][: len(step.node.outputs)]

"""LSTM, GRU and RNN: one product projects all inputs, then a recurrence step computes both directions.

All attributes and operands are supported in float32 and float64; half precision computes in float32.  Falls back to
the reference kernel only if the hidden size is unknown or 0 at compile time, and for shapes that contradict each
other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.kernels.recurrent.divided_recurrence import (
    divided_recurrence_steps,
    is_divided,
)
from sardonyx._src.compile.kernels.recurrent.operands import RecurrentOperands
from sardonyx._src.compile.kernels.recurrent.recurrence import recurrence_step
from sardonyx._src.compile.kernels.recurrent.variant import RecurrenceVariant
from sardonyx._src.compile.kernels.tuning import RecurrenceTuning
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.lower.recurrent_weights import LayerWeights
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.partition.operands.recurrent_layer import OPERANDS, RecurrenceConfig, layer_config
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.ir.dims import Known


@matches("LSTM", 22)
@matches("GRU", 22)
@matches("RNN", 22)
def match_recurrence(op: BoundNode, scope: Scope) -> Region[RecurrenceConfig] | None:
    config = layer_config(op, scope)
    if config is None:
        return None
    values = dict(zip(OPERANDS, op.node.inputs, strict=False))
    reads = tuple(Read(value) for name in config.reads if (value := values[name]) is not None)
    return Region(
        "Recurrence", (op.node,), config, reads, tuple(Write(op.node.outputs[i]) for i in config.used)
    )


def projects_inputs(config: RecurrenceConfig, batch: Known, size: Known) -> bool:
    """Whether the recurrence kernel projects its inputs itself, instead of a product before it.

    That is faster if all weights fit in the cache and are used for several sequences at a time.
    size: the size of an input.
    """
    if config.cell == "gru" or not isinstance(batch, int) or not isinstance(size, int) or size == 0:
        return False
    elements = config.rows * (config.hidden + size)
    return (
        batch >= RecurrenceTuning.min_projected_batch and elements <= RecurrenceTuning.max_projected_weights
    )


@lowers("Recurrence")
def lower_recurrence(region: LaidOutRegion[RecurrenceConfig], lowering: Lowering) -> Sequence[Step]:
    return LayerLowering(region, lowering).lower()


class LayerLowering:
    """The lowering of a layer.  Sequences are viewed as [directions, length, batch, ...], states as [directions, batch, ...]."""

    def __init__(self, region: LaidOutRegion[RecurrenceConfig], lowering: Lowering) -> None:
        self.config, self.lowering, self.name = region.config, lowering, region.name
        self.operands = dict(zip(self.config.reads, region.operands, strict=True))
        self.results = dict(zip(self.config.used, region.results, strict=True))
        x = self.operands["X"]
        self.dtype, self.directions = x.dtype, len(self.config.backward)
        self.length, self.batch = x.shape[:2] if not self.config.is_batch_first else x.shape[1::-1]

    def lower(self) -> list[Step]:
        weights = LayerWeights(self.config, self.operands, self.lowering, self.dtype, self.name)
        packed, packing = weights.packed("R", self.config.hidden)
        lengths, is_lstm = self.operands.get("sequence_lens"), self.config.cell == "lstm"
        layer = RecurrentOperands(
            packed,
            self.output(),
            self.initial_state("initial_h"),
            self.last_state(1),
            c=self.initial_state("initial_c") if is_lstm else None,
            last_c=self.last_state(2) if is_lstm else None,
            hidden_bias=weights.hidden_bias(),
            peepholes=self.operands.get("P"),
            lengths=lengths,
            status=None if lengths is None else self.lowering.status,
        )
        layer, steps = self.with_inputs(layer, weights)
        return [*steps, *packing, *self.recurrence_steps(layer)]

    def with_inputs(
        self, layer: RecurrentOperands, weights: LayerWeights
    ) -> tuple[RecurrentOperands, list[Step]]:
        """The layer with its projected inputs, and the steps that project them; or with its inputs, if the kernel projects them."""
        x = self.operands["X"]
        size, is_batch_first = x.shape[2], self.config.is_batch_first
        if not projects_inputs(self.config, self.batch, size):
            gates, steps = weights.project(x)
            gates = gates.permute((2, 1, 0, 3) if is_batch_first else (2, 0, 1, 3))
            return replace(layer, input_gates=gates), steps
        assert isinstance(size, int), f"size of inputs must be known; got {size}"
        x = x.permute((1, 0, 2)) if is_batch_first else x
        each = replace(x, shape=(self.directions, *x.shape), strides=(0, *x.strides))
        bias, steps = weights.bias()
        packed, packing = weights.packed("W", size)
        return replace(layer, x=each, input_weights=packed, bias=bias), [*steps, *packing]

    # --- tensors -----------------------------------------------------------------------------

    def output(self) -> TensorView:
        """Y: [directions, length, batch, hidden]; a temporary if it is not used."""
        if (result := self.results.get(0)) is not None:
            return result.permute((2, 1, 0, 3) if self.config.is_batch_first else (1, 0, 2, 3))
        return self.temporary(self.directions, self.length, self.batch, self.config.hidden)

    def last_state(self, number: int) -> TensorView:
        """Y_h or Y_c, output 1 or 2: [directions, batch, hidden]; a temporary if it is not used."""
        if (result := self.results.get(number)) is not None:
            return self.view_state(result)
        return self.temporary(self.directions, self.batch, self.config.hidden)

    def temporary(self, *shape: Known) -> TensorView:
        return self.lowering.temporary(self.dtype, shape, f"{self.name}.unused")

    def initial_state(self, operand: str) -> TensorView:
        """An initial state [directions, batch, hidden]; zeros if it is omitted."""
        if (state := self.operands.get(operand)) is not None:
            return self.view_state(state)
        hidden = self.config.hidden
        zeros = self.lowering.constant_tensor(
            np.zeros(hidden, self.dtype.numpy), ("zeros", self.dtype, hidden)
        )
        return replace(zeros, shape=(self.directions, self.batch, hidden), strides=(0, 0, 1))

    def view_state(self, state: TensorView) -> TensorView:
        return state.permute((1, 0, 2)) if self.config.is_batch_first else state

    # --- steps -------------------------------------------------------------------------------

    def recurrence_steps(self, layer: RecurrentOperands) -> Iterator[Step]:
        """One step for all directions with the same activations."""
        config = self.config
        for activations, group in groupby(range(self.directions), config.activations.__getitem__):
            first, *others = group
            variant = RecurrenceVariant(
                config.cell,
                activations,
                LLVM_ELEMENTS[self.dtype],
                config.clip,
                config.is_coupled,
                layer.peepholes is not None,
                layer.lengths is not None,
                layer.x is not None,
            )
            part = layer.slice_directions(first, 1 + len(others))
            part = replace(part, is_backward=config.backward[first])
            if is_divided(part):
                yield from divided_recurrence_steps(variant, part, self.lowering.target, self.name)
            else:
                yield recurrence_step(variant, part)

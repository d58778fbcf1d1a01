"""GRU: a gated recurrent unit layer.

Spec: ai.onnx GRU-1, -3, -7, -14, -22.  Version 3 added linear_before_reset, 7 dropped output_sequence, which only said
whether Y is an output; 14 added layout, 22 bfloat16.  The formulas of versions 1 and 3 omit the transpose of R;
models of those versions and this implementation follow the later ones.  Version 1 spells the default "foward".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.recurrence import (
    BACKWARD,
    Results,
    States,
    infer_recurrent,
    prepare_layer,
    register_recurrent_adapters,
)
from sardonyx._src.ops.nn.recurrent_activations import (
    ACTIVATION_NAMES,
    Function,
    activation_functions,
    per_direction,
)
from sardonyx._src.ops.traits import enum_values
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator(
    "GRU",
    tolerance="rounding",
    computes_in_float32=True,
    size_rule="initial_states",
    enum_attributes={
        "activations": enum_values(*ACTIVATION_NAMES, ignores_case=True),
        "direction": enum_values(*BACKWARD),
    },
)
register_recurrent_adapters(op, oldest=3)


@op.convert((1, 3), (3, 1))
def spell_direction(adapter: Adapter) -> AdaptedNode:
    """Write the direction explicitly: version 1 spells its default "foward"."""
    direction = adapter.inference.attributes["direction"]
    return adapter.same(direction="forward" if direction == "foward" else direction)


@op.infer(1, 3, 7, 14, 22)
def infer(inference: Inference) -> Result:
    return infer_recurrent(inference, gates=3, functions=("Sigmoid", "Tanh"))


@op.eval(1, 3, ignores=("output_sequence",))
@op.eval(7, 14, 22)
def evaluate(
    X: Array,
    W: Array,
    R: Array,
    B: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    *,
    activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    clip: float | None = None,
    direction: str,
    hidden_size: int | None = None,
    linear_before_reset: int = 0,
    layout: int = 0,
    context: RunContext,
) -> Results:
    """Y, Y_h.  Gates follow each other as update (z), reset (r), hidden (h)."""
    if context.version == 1 and direction == "foward":
        direction = "forward"
    net = prepare_layer(
        X,
        W,
        R,
        B,
        sequence_lens,
        gates=3,
        direction=direction,
        layout=layout,
        hidden_size=hidden_size,
        context=context,
    )
    names = per_direction(activations, ("Sigmoid", "Tanh"), len(net.backward))
    functions = activation_functions(names, activation_alpha, activation_beta, clip)
    Wb, Rb = net.biases
    gated_bias = np.zeros_like(Rb)  # the part of Rb that the reset gate multiplies
    if linear_before_reset:
        gated_bias[:, 2 * net.hidden :] = Rb[:, 2 * net.hidden :]
    cells = [
        GruCell(R, gated_bias[d, 2 * net.hidden :], functions[2 * d : 2 * d + 2], bool(linear_before_reset))
        for d, R in enumerate(net.R)
    ]
    return net.run([cell.step for cell in cells], Wb + Rb - gated_bias, net.states(initial_h, "initial_h"))


@dataclass(frozen=True, slots=True)
class GruCell:
    """The weights of one direction, R: [3 * hidden, hidden], and its activations."""

    R: Array
    bias: Array  # of the hidden gate, [hidden], multiplied by the reset gate
    functions: Sequence[Function]  # f, g
    linear_first: bool

    def step(self, projected: Array, states: States) -> States:
        (H,), (f, g) = states, self.functions
        n = H.shape[1]
        z, r = np.split(f(projected[:, : 2 * n] + H @ self.R[: 2 * n].T), 2, axis=1)
        Rh = self.R[2 * n :].T
        recurrent = r * (H @ Rh + self.bias) if self.linear_first else (r * H) @ Rh
        h = g(projected[:, 2 * n :] + recurrent)
        return ((1 - z) * h + z * H,)

"""GRU: a layer of gated recurrent units.

Spec: ai.onnx GRU-1, -3, -7, -14, -22.  Version 3 added linear_before_reset, 7 dropped output_sequence, which only said
whether Y is wanted; 14 added layout, 22 bfloat16.  Versions 1 and 3 print R untransposed; like files that use them,
they are read as the later versions are.  The default direction of version 1 is spelt "foward".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.recurrence import Results, States, convert_recurrent, infer_recurrent, layer
from sardonyx._src.ops.nn.recurrent_activations import Function, activation_functions, per_direction

op = Operator("GRU", tolerance="rounding")
convert_recurrent(op, oldest=3)


@op.convert((1, 3), (3, 1))
def direction_spelt(c: Change) -> Converted:
    """With the direction written out, as the defaults differ."""
    direction = c.t.attributes["direction"]
    return c.same(direction="forward" if direction == "foward" else direction)


@op.infer(1, 3, 7, 14, 22)
def infer(t: Inference) -> Result:
    return infer_recurrent(t, gates=3, functions=("Sigmoid", "Tanh"))


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
    call: Call,
) -> Results:
    """Y, Y_h.  Gates follow each other as update (z), reset (r), hidden (h)."""
    if call.version == 1 and direction == "foward":
        direction = "forward"
    net = layer(
        X,
        W,
        R,
        B,
        sequence_lens,
        gates=3,
        direction=direction,
        layout=layout,
        hidden_size=hidden_size,
        call=call,
    )
    names = per_direction(activations, ("Sigmoid", "Tanh"), len(net.backward))
    functions = activation_functions(names, activation_alpha, activation_beta, clip)
    Wb, Rb = net.biases
    late = np.zeros_like(Rb)  # the part of Rb that the reset gate weighs too
    if linear_before_reset:
        late[:, 2 * net.hidden :] = Rb[:, 2 * net.hidden :]
    cells = [
        Cell(R, late[d, 2 * net.hidden :], functions[2 * d : 2 * d + 2], bool(linear_before_reset))
        for d, R in enumerate(net.R)
    ]
    return net.run([cell.step for cell in cells], Wb + Rb - late, net.states(initial_h, "initial_h"))


@dataclass(frozen=True, slots=True)
class Cell:
    """One direction's weights, R: [3 * hidden, hidden], and its functions."""

    R: Array
    bias: Array  # [hidden] of the hidden gate, where the reset gate weighs it
    functions: Sequence[Function]  # f, g
    linear_first: bool

    def step(self, given: Array, states: States) -> States:
        (H,), (f, g) = states, self.functions
        n = H.shape[1]
        z, r = np.split(f(given[:, : 2 * n] + H @ self.R[: 2 * n].T), 2, axis=1)
        Rh = self.R[2 * n :].T
        recurrent = r * (H @ Rh + self.bias) if self.linear_first else (r * H) @ Rh
        h = g(given[:, 2 * n :] + recurrent)
        return ((1 - z) * h + z * H,)

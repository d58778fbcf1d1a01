"""LSTM: a layer of long short-term memory.

Spec: ai.onnx LSTM-1, -7, -14, -22.  Version 7 dropped output_sequence, which only said whether Y is wanted; 14 added
layout, 22 bfloat16.  Version 1 prints R untransposed; like files that use it, it is read as the later versions are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.ir.dims import dim_mul
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.arithmetic import widen
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.recurrence import (
    Results,
    States,
    convert_recurrent,
    dims_of,
    fitting,
    infer_recurrent,
    layer,
)
from sardonyx._src.ops.nn.recurrent_activations import Function, activation_functions, per_direction
from sardonyx._src.ops.shapes import merge_dims

op = Operator("LSTM", tolerance="rounding")
convert_recurrent(op, oldest=1)


@op.infer(1, 7, 14, 22)
def infer(t: Inference) -> Result:
    found = infer_recurrent(t, gates=4, functions=("Sigmoid", "Tanh", "Tanh"))
    merge_dims(t, [dim_mul(dims_of(t, 2, 3)[2], 3), dims_of(t, 7, 2)[1]], "three times the hidden size and P")
    return found


@op.eval(1, ignores=("output_sequence",))
@op.eval(7, 14, 22)
def evaluate(
    X: Array,
    W: Array,
    R: Array,
    B: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    initial_c: Array | None = None,
    P: Array | None = None,
    *,
    activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    clip: float | None = None,
    direction: str,
    hidden_size: int | None = None,
    input_forget: int,
    layout: int = 0,
    call: Call,
) -> Results:
    """Y, Y_h, Y_c.  Gates follow each other as input, output, forget, cell; P: [directions, 3 * hidden] has no cell's.

    The state of the cell is clipped where the activation h reads it, and not where it is kept.
    """
    net = layer(
        X,
        W,
        R,
        B,
        sequence_lens,
        gates=4,
        direction=direction,
        layout=layout,
        hidden_size=hidden_size,
        call=call,
    )
    names = per_direction(activations, ("Sigmoid", "Tanh", "Tanh"), len(net.backward))
    functions = activation_functions(names, activation_alpha, activation_beta, clip)
    shape = (len(net.backward), 3 * net.hidden)
    peepholes = np.zeros(shape, net.x.dtype) if P is None else fitting(widen(P), shape, "P")
    cells = [
        Cell(R, p, functions[3 * d : 3 * d + 3], bool(input_forget))
        for d, (R, p) in enumerate(zip(net.R, peepholes, strict=True))
    ]
    h, c = net.states(initial_h, "initial_h"), net.states(initial_c, "initial_c")
    return net.run([cell.step for cell in cells], net.bias, h, c)


@dataclass(frozen=True, slots=True)
class Cell:
    """One direction's weights, R: [4 * hidden, hidden] and P: [3 * hidden], and its functions."""

    R: Array
    P: Array
    functions: Sequence[Function]  # f, g, h
    coupled: bool  # the forget gate lets through what the input gate does not

    def step(self, given: Array, states: States) -> States:
        (H, C), (f, g, h) = states, self.functions
        to_i, to_o, to_f, to_c = np.split(given + H @ self.R.T, 4, axis=1)
        Pi, Po, Pf = np.split(self.P, 3)
        i = f(to_i + Pi * C)
        forget = 1 - i if self.coupled else f(to_f + Pf * C)
        C = forget * C + i * g(to_c)
        o = f(to_o + Po * C)
        return o * h(C), C

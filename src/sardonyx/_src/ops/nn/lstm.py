"""LSTM: a long short-term memory layer.

Spec: ai.onnx LSTM-1, -7, -14, -22.  Version 7 dropped output_sequence, which only said whether Y is an output; 14 added
layout, 22 bfloat16.  The formulas of version 1 omit the transpose of R; models of that version follow the later
formulas, and so does this implementation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import dim_mul
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.recurrence import (
    BACKWARD,
    Results,
    States,
    check_shape,
    dims_of,
    infer_recurrent,
    prepare_layer,
    register_recurrent_adapters,
)
from sardonyx._src.ops.nn.recurrence_body import CellText, bias_text, recurrent_body
from sardonyx._src.ops.nn.recurrent_activations import (
    ACTIVATION_NAMES,
    Function,
    activation_functions,
    per_direction,
)
from sardonyx._src.ops.support.arithmetic import promote_to_float32
from sardonyx._src.ops.support.body_text import scalar
from sardonyx._src.ops.support.shapes import merge_dims
from sardonyx._src.ops.traits import enum_values

op = Operator(
    "LSTM",
    tolerance="rounding",
    computes_in_float32=True,
    size_rule="initial_states",
    enum_attributes={
        "activations": enum_values(*ACTIVATION_NAMES, ignores_case=True),
        "direction": enum_values(*BACKWARD),
    },
)
register_recurrent_adapters(op, oldest=1)


@op.infer(1, 7, 14, 22)
def infer(inference: Inference) -> Result:
    types = infer_recurrent(inference, gates=4, functions=("Sigmoid", "Tanh", "Tanh"))
    merge_dims(
        inference,
        [dim_mul(dims_of(inference, 2, 3)[2], 3), dims_of(inference, 7, 2)[1]],
        "three times the hidden size and P",
    )
    return types


@op.body(22, opset=18)
def body(inference: Inference) -> str:
    return recurrent_body(inference, ("Sigmoid", "Tanh", "Tanh"), cell_text, "hc")


def cell_text(cell: CellText, *, clips_cell: bool = True) -> tuple[str, str]:
    """The nodes before the Scan of a direction, and those of a step.

    clips_cell: whether the attribute `clip` also applies to the cell state where the activation h reads it.
    """
    d, has_peepholes = cell.d, cell.inference.has(7)
    outside = bias_text(cell)
    if has_peepholes:
        outside += f"p_d{d} = Gather <axis = 0> (p, direction{d}) "
        outside += f"pi{d}, po{d}, pf{d} = Split <axis = 0, num_outputs = 3> (p_d{d}) "

    def gate(name: str, state: str) -> str:
        """The nodes of a gate; with peepholes, the cell state times a weight is added to its input."""
        text, x = "", f"to_{name}{d}"
        if has_peepholes:
            text, x = (
                f"{name}_peep{d} = Mul(p{name}{d}, {state}{d}) {name}_sum{d} = Add({x}, {name}_peep{d}) ",
                f"{name}_sum{d}",
            )
        return text + cell.activation(0, x, f"{name}{d}")

    coupled = f"one{d} = {scalar(1.0, cell.dtype)} f{d} = Sub(one{d}, i{d}) "
    return (
        outside,
        f"""
      {cell.weights.state_product(d, f"h_in{d}", f"h_product{d}")}
      gates{d} = Add(p_in{d}, h_product{d})
      to_i{d}, to_o{d}, to_f{d}, to_c{d} = Split <axis = 1, num_outputs = 4> (gates{d})
      {gate("i", "c_in")}
      {coupled if cell.inference.integer("input_forget") else gate("f", "c_in")}
      {cell.activation(1, f"to_c{d}", f"update{d}")}
      kept{d} = Mul(f{d}, c_in{d})
      added{d} = Mul(i{d}, update{d})
      c_new{d} = Add(kept{d}, added{d})
      {gate("o", "c_new")}
      {cell.activation(2, f"c_new{d}", f"shown{d}", clips=clips_cell)}
      h_new{d} = Mul(o{d}, shown{d})""",
    )


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
    context: RunContext,
) -> Results:
    """Y, Y_h, Y_c.  The rows of W, R and B are those of the input, output, forget and cell gate.

    P: [directions, 3 * hidden], the peepholes of the input, output and forget gate.  With `clip`, the activation h reads
    a clipped cell state, but the state itself is not clipped.
    """
    net = prepare_layer(
        X,
        W,
        R,
        B,
        sequence_lens,
        gates=4,
        direction=direction,
        layout=layout,
        hidden_size=hidden_size,
        context=context,
    )
    names = per_direction(activations, ("Sigmoid", "Tanh", "Tanh"), len(net.backward))
    functions = activation_functions(names, activation_alpha, activation_beta, clip)
    shape = (len(net.backward), 3 * net.hidden)
    peepholes = np.zeros(shape, net.x.dtype) if P is None else check_shape(promote_to_float32(P), shape, "P")
    cells = [
        LstmCell(R, p, functions[3 * d : 3 * d + 3], bool(input_forget))
        for d, (R, p) in enumerate(zip(net.R, peepholes, strict=True))
    ]
    h, c = net.states(initial_h, "initial_h"), net.states(initial_c, "initial_c")
    return net.run([cell.step for cell in cells], net.bias, h, c)


@dataclass(frozen=True, slots=True)
class LstmCell:
    """The weights of one direction, R: [4 * hidden, hidden] and P: [3 * hidden], and its activations."""

    R: Array
    P: Array
    functions: Sequence[Function]  # f (of the gates i, o and f), g (of the cell gate), h (of the cell state)
    coupled: bool  # the attribute input_forget: the forget gate is 1 minus the input gate

    def step(self, projected: Array, states: States) -> States:
        (H, C), (f, g, h) = states, self.functions
        to_i, to_o, to_f, to_c = np.split(projected + H @ self.R.T, 4, axis=1)
        Pi, Po, Pf = np.split(self.P, 3)
        i = f(to_i + Pi * C)
        forget = 1 - i if self.coupled else f(to_f + Pf * C)
        C = forget * C + i * g(to_c)
        o = f(to_o + Po * C)
        return o * h(C), C

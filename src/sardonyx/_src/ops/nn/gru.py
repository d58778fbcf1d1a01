"""GRU: a gated recurrent unit layer.

Spec: ai.onnx GRU-1, -3, -7, -14, -22.  Version 3 added linear_before_reset, 7 dropped output_sequence, which only said
whether Y is an output; 14 added layout, 22 bfloat16.  The formulas of versions 1 and 3 omit the transpose of R; models
of these versions follow the later formulas, and so does this implementation.  Version 1 misspells the default
direction as "foward".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
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
from sardonyx._src.ops.nn.recurrence_body import CellText, bias_text, recurrent_body
from sardonyx._src.ops.nn.recurrent_activations import (
    ACTIVATION_NAMES,
    Function,
    activation_functions,
    per_direction,
)
from sardonyx._src.ops.support.body_text import scalar
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


@op.body(22, opset=18)
def body(inference: Inference) -> str:
    return recurrent_body(inference, ("Sigmoid", "Tanh"), cell_text, "h")


def cell_text(cell: CellText) -> tuple[str, str]:
    """The nodes before the Scan of a direction, and those of a step.

    With linear_before_reset, the hidden gate's part of Rb is not added to the projected input, as all other biases
    are: a step adds it to the recurrent product, which the reset gate then multiplies.
    """
    d = cell.d
    is_linear_first, has_bias = bool(cell.inference.integer("linear_before_reset")), cell.inference.has(3)
    outside = f"rz{d}, rr{d}, rh{d} = Split <axis = 1, num_outputs = 3> (r_t{d}) "
    outside += gated_bias_text(cell) if is_linear_first and has_bias else bias_text(cell)
    linear = f"h_linear{d} = MatMul(h_in{d}, rh{d}) "
    biased = (
        f"h_biased{d} = Add(h_linear{d}, rb_h{d}) " if has_bias else f"h_biased{d} = Identity(h_linear{d}) "
    )
    reset_last = f"{linear} {biased} recurrent{d} = Mul(r_gate{d}, h_biased{d})"
    reset_first = f"h_reset{d} = Mul(r_gate{d}, h_in{d}) recurrent{d} = MatMul(h_reset{d}, rh{d})"
    return (
        outside,
        f"""
      to_z{d}, to_r{d}, to_h{d} = Split <axis = 1, num_outputs = 3> (p_in{d})
      h_z{d} = MatMul(h_in{d}, rz{d}) sum_z{d} = Add(to_z{d}, h_z{d})
      h_r{d} = MatMul(h_in{d}, rr{d}) sum_r{d} = Add(to_r{d}, h_r{d})
      {cell.activation(0, f"sum_z{d}", f"z{d}")}
      {cell.activation(0, f"sum_r{d}", f"r_gate{d}")}
      {reset_last if is_linear_first else reset_first}
      sum_h{d} = Add(to_h{d}, recurrent{d})
      {cell.activation(1, f"sum_h{d}", f"candidate{d}")}
      one{d} = {scalar(1.0, cell.dtype)}
      rest{d} = Sub(one{d}, z{d})
      fresh{d} = Mul(rest{d}, candidate{d})
      kept{d} = Mul(z{d}, h_in{d})
      h_new{d} = Add(fresh{d}, kept{d})""",
    )


def gated_bias_text(cell: CellText) -> str:
    """The nodes of `projected`: the input product plus all biases except rb_h, the hidden gate's part of Rb."""
    d = cell.d
    return f"""
      b_d{d} = Gather <axis = 0> (b, direction{d})
      wb_z{d}, wb_r{d}, wb_h{d}, rb_z{d}, rb_r{d}, rb_h{d} = Split <axis = 0, num_outputs = 6> (b_d{d})
      bias_z{d} = Add(wb_z{d}, rb_z{d}) bias_r{d} = Add(wb_r{d}, rb_r{d})
      bias{d} = Concat <axis = 0> (bias_z{d}, bias_r{d}, wb_h{d})
      projected{d} = Add(product{d}, bias{d}) """


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
    """Y, Y_h.  The rows of W, R and B are those of the update gate (z), the reset gate (r) and the hidden gate (h)."""
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
    bias: Array  # the hidden gate's part of Rb, [hidden], which the reset gate multiplies; zeros unless `linear_first`
    functions: Sequence[Function]  # f (of the gates z and r) and g (of the hidden gate)
    linear_first: bool  # the attribute linear_before_reset

    def step(self, projected: Array, states: States) -> States:
        (H,), (f, g) = states, self.functions
        n = H.shape[1]
        z, r = np.split(f(projected[:, : 2 * n] + H @ self.R[: 2 * n].T), 2, axis=1)
        Rh = self.R[2 * n :].T
        recurrent = r * (H @ Rh + self.bias) if self.linear_first else (r * H) @ Rh
        h = g(projected[:, 2 * n :] + recurrent)
        return ((1 - z) * h + z * H,)

"""RNN: a recurrent layer without gates.

Spec: ai.onnx RNN-1, -7, -14, -22.  Version 7 dropped output_sequence, which only said whether Y is an output; 14 added
layout, 22 bfloat16.  The formulas of version 1 omit the transpose of R; models of that version follow the later
formulas, and so does this implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

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
from sardonyx._src.ops.traits import enum_values

op = Operator(
    "RNN",
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
    return infer_recurrent(inference, gates=1, functions=("Tanh",))


@op.body(22, opset=18)
def body(inference: Inference) -> str:
    return recurrent_body(inference, ("Tanh",), cell_text, "h")


def cell_text(cell: CellText) -> tuple[str, str]:
    """The nodes before the Scan of a direction, and those of a step."""
    d = cell.d
    return (
        bias_text(cell),
        f"""
      h_product{d} = MatMul(h_in{d}, r_t{d})
      sum{d} = Add(p_in{d}, h_product{d})
      {cell.activation(0, f"sum{d}", f"h_new{d}")}""",
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
    *,
    activations: Sequence[str],
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    clip: float | None = None,
    direction: str,
    hidden_size: int | None = None,
    layout: int = 0,
    context: RunContext,
) -> Results:
    """Y, Y_h.  H = f(X W^T + H' R^T + Wb + Rb), where H' is the previous output."""
    net = prepare_layer(
        X,
        W,
        R,
        B,
        sequence_lens,
        gates=1,
        direction=direction,
        layout=layout,
        hidden_size=hidden_size,
        context=context,
    )
    names = per_direction(activations, ("Tanh",), len(net.backward))
    functions = activation_functions(names, activation_alpha, activation_beta, clip)
    steps = [partial(step, R, f) for R, f in zip(net.R, functions, strict=True)]
    return net.run(steps, net.bias, net.states(initial_h, "initial_h"))


def step(R: Array, f: Function, projected: Array, states: States) -> States:
    return (f(projected + states[0] @ R.T),)

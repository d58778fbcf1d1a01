"""RNN: a layer of recurrent neurons without gates.

Spec: ai.onnx RNN-1, -7, -14, -22.  Version 7 dropped output_sequence, which only said whether Y is wanted; 14 added
layout, 22 bfloat16.  Version 1 prints R untransposed; like files that use it, it is read as the later versions are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.recurrence import Results, States, convert_recurrent, infer_recurrent, layer
from sardonyx._src.ops.nn.recurrent_activations import Function, activation_functions, per_direction

op = Operator("RNN", tolerance="rounding")
convert_recurrent(op, oldest=1)


@op.infer(1, 7, 14, 22)
def infer(t: Inference) -> Result:
    return infer_recurrent(t, gates=1, functions=("Tanh",))


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
    call: Call,
) -> Results:
    """Y, Y_h.  H = f(X W^T + H' R^T + Wb + Rb), where H' is the output of the step before."""
    net = layer(
        X,
        W,
        R,
        B,
        sequence_lens,
        gates=1,
        direction=direction,
        layout=layout,
        hidden_size=hidden_size,
        call=call,
    )
    names = per_direction(activations, ("Tanh",), len(net.backward))
    functions = activation_functions(names, activation_alpha, activation_beta, clip)
    steps = [partial(step, R, f) for R, f in zip(net.R, functions, strict=True)]
    return net.run(steps, net.bias, net.states(initial_h, "initial_h"))


def step(R: Array, f: Function, given: Array, states: States) -> States:
    return (f(given + states[0] @ R.T),)

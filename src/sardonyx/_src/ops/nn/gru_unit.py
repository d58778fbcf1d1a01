"""GRUUnit: one step of gated recurrent units whose gates are computed elsewhere.

Spec: ai.onnx GRUUnit-1, an experiment of the first releases, withdrawn with 1.5.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import narrow, widen
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import same_tensor

op = Operator("GRUUnit", tolerance="rounding")


@op.infer(1)
def infer(t: Inference) -> Result:
    return same_tensor(t)


@op.eval(1)
def evaluate(
    hidden_prev: Array, gates: Array, seq_lengths: Array, t: Array, *, drop_states: int = 0
) -> Array:
    """hidden_prev, result: [..., batch, hidden]; gates: [..., batch, 3 * hidden], before activation, as reset, update
    and output; seq_lengths: [batch]; t: one element, the step.

    A sequence that is over at step t keeps its state, or loses it to zeros where `drop_states` is set.
    """
    shape = hidden_prev.shape
    if hidden_prev.ndim < 2 or gates.shape != (*shape[:-1], 3 * shape[-1]):
        raise EvaluationError(f"gates are of shape {list(gates.shape)} for a state of shape {list(shape)}")
    if seq_lengths.shape != (shape[-2],) or t.size != 1:
        found = f"seq_lengths is of shape {list(seq_lengths.shape)}, t of shape {list(t.shape)}"
        raise EvaluationError(f"{found}; [{shape[-2]}] and one element are wanted")
    before = widen(hidden_prev)
    _, update, output = np.split(widen(gates), 3, axis=-1)  # the reset gate has done its part in `output`
    z = 1 / (1 + np.exp(-update))
    after = z * before + (1 - z) * np.tanh(output)
    going = (t.reshape(()) < seq_lengths)[:, None]
    ended = np.zeros_like(before) if drop_states else before
    return narrow(np.where(going, after, ended), hidden_prev.dtype)

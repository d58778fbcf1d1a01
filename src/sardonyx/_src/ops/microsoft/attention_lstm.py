"""AttnLSTM of com.microsoft: an LSTM with attention to a memory (Bahdanau attention).

In each step the LSTM reads its input and the attention state: the sum of the memory's values, weighted by scores of their
keys and the LSTM's output of the step before.

Spec: com.microsoft AttnLSTM-1, as onnxruntime computes it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.nn.lstm import LstmCell
from sardonyx._src.ops.nn.recurrence import (
    BACKWARD,
    Results,
    States,
    check_shape,
    run_sequence,
    validate_lengths,
)
from sardonyx._src.ops.nn.recurrent_activations import activation_functions, per_direction

op = Operator("AttnLSTM", DOMAIN, tolerance="rounding", about="LSTM with attention to a memory")


@op.infer(1)
def infer(inference: Inference) -> Result:
    dtype, x, r = inference.dtype(0), inference.shape(0), inference.shape(2)
    if dtype is None or x is None or r is None:
        return [None if dtype is None else TensorType(dtype)] * inference.outputs
    state = TensorType(dtype, (r[0], x[1], r[2]))
    return [TensorType(dtype, (x[0], r[0], x[1], r[2])), state, state][: inference.outputs]


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of one direction, and the weights of the attention to it.

    keys: [batch, steps, size].
    values: [batch, steps, depth], 0 after the length of a memory.
    is_present: [batch, steps] bool, False after the length of a memory.
    query_weights: [hidden, size], by which the output of the LSTM becomes a query.
    vector: [size], by which the sum of a key and the query becomes a score.
    layer: [hidden + depth, attention], which maps output and weighted sum to the attention state; None for the sum itself.
    """

    keys: Array
    values: Array
    is_present: Array
    query_weights: Array
    vector: Array
    layer: Array | None

    @property
    def size(self) -> int:
        """The size of the attention state."""
        return self.values.shape[2] if self.layer is None else self.layer.shape[1]

    def attend(self, state: Array) -> Array:
        """The attention state, [batch, size], for the output of the LSTM, [batch, hidden]."""
        query = state @ self.query_weights
        scores = np.tanh(self.keys + query[:, None]) @ self.vector
        scores = np.where(self.is_present, scores, -np.inf)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        context = np.matmul(shares[:, None], self.values)[:, 0]
        return context if self.layer is None else np.concatenate((state, context), axis=1) @ self.layer


@dataclass(frozen=True, slots=True)
class AttendingCell:
    """An LSTM cell with the attention state as its third state; weights: those of this state, [4 * hidden, attention]."""

    cell: LstmCell
    memory: Memory
    weights: Array

    def step(self, projected: Array, states: States) -> States:
        H, C, attention = states
        H, C = self.cell.step(projected + attention @ self.weights.T, (H, C))
        return H, C, self.memory.attend(H)


@op.eval(1)
def evaluate(
    X: Array,
    W: Array,
    R: Array,
    B: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    initial_c: Array | None = None,
    P: Array | None = None,
    QW: Array | None = None,
    MW: Array | None = None,
    V: Array | None = None,
    M: Array | None = None,
    memory_seq_lens: Array | None = None,
    AW: Array | None = None,
    *,
    activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    clip: float | None = None,
    direction: str,
    hidden_size: int | None = None,
    input_forget: int,
    context: RunContext,
) -> Results:
    """Y, Y_h, Y_c.

    X: [length, batch, input]; W: [directions, 4 * hidden, input + attention]; R: [directions, 4 * hidden, hidden].
    M: [batch, steps, depth], the memory; MW: [directions, depth, size], which maps it to keys.
    QW: [directions, hidden, size]; V: [directions, size]; AW: [directions, hidden + depth, attention].
    The inputs of the activation h are not clipped.
    """
    if QW is None or MW is None or V is None or M is None:
        raise EvaluationError("QW, MW, V and M must be given")
    backward = BACKWARD.get(direction, ())
    length, batch, inputs = X.shape
    hidden = R.shape[2] if hidden_size is None else hidden_size
    check_shape(R, (len(backward), 4 * hidden, hidden), "R")
    lengths = validate_lengths(sequence_lens, length, batch)
    names = per_direction(activations, ("Sigmoid", "Tanh", "Tanh"), len(backward))
    clipped, unclipped = (
        activation_functions(names, activation_alpha, activation_beta, c) for c in (clip, None)
    )
    state_shape = (len(backward), batch, hidden)
    initial = [np.zeros(state_shape, X.dtype) if s is None else s for s in (initial_h, initial_c)]
    outs, finals = [], []
    for d, is_backward in enumerate(backward):
        context.check()
        peepholes = np.zeros(3 * hidden, X.dtype) if P is None else P[d]
        functions = [*clipped[3 * d : 3 * d + 2], unclipped[3 * d + 2]]
        cell = LstmCell(R[d], peepholes, functions, bool(input_forget))
        memory = make_memory(M, memory_seq_lens, QW[d], MW[d], V[d], None if AW is None else AW[d])
        check_shape(W[d], (4 * hidden, inputs + memory.size), "W")
        attending = AttendingCell(cell, memory, W[d, :, inputs:])
        bias = 0 if B is None else B[d, : 4 * hidden] + B[d, 4 * hidden :]
        states = (initial[0][d], initial[1][d], np.zeros((batch, memory.size), X.dtype))
        out, (H, C, _) = run_sequence(
            attending.step, X @ W[d, :, :inputs].T + bias, states, lengths, is_backward
        )
        outs.append(out)
        finals.append((H, C))
    Y_h, Y_c = (np.stack(column) for column in zip(*finals, strict=True))
    return np.stack(outs, axis=1), Y_h, Y_c


def make_memory(M: Array, lengths: Array | None, QW: Array, MW: Array, V: Array, AW: Array | None) -> Memory:
    """The memory of one direction; steps after the length of a memory are absent."""
    present = np.arange(M.shape[1]) < validate_lengths(lengths, M.shape[1], M.shape[0])[:, None]
    values = np.where(present[:, :, None], M, 0).astype(M.dtype)
    return Memory(values @ MW, values, present, QW, V, AW)

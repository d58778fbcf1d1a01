"""LSTM, GRU and RNN with constant weights: one GEMM projects all inputs, then a recurrence step per direction.

Falls back to the reference kernel for non-constant weights, sequence lengths, peepholes, clipping, batch-major layout and activations other than
the defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sardonyx._src.compile.kernels.gemm.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing import make_constant, pack_bias
from sardonyx._src.compile.kernels.gemm.panels import pack_constant
from sardonyx._src.compile.kernels.recurrent.cells import GATE_COUNTS, CellKind
from sardonyx._src.compile.kernels.recurrent.recurrence import RecurrentDirection, recurrence_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.views import slice_axis
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.fusion import Shape
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import known_equal
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.nn.recurrence import BACKWARD

CELL_KINDS: dict[str, CellKind] = {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn"}
UNSUPPORTED_INPUTS = (4, 7)  # sequence lengths and peepholes
SUPPORTED_ATTRIBUTES = {"layout": 0, "input_forget": 0}
DEFAULT_ACTIVATIONS = {
    "LSTM": ("Sigmoid", "Tanh", "Tanh"),
    "GRU": ("Sigmoid", "Tanh"),
    "RNN": ("Tanh",),
}  # per direction


@dataclass(frozen=True, slots=True)
class RecurrentWeights:
    """Weights of both directions.  inputs: [directions, gates * hidden, input].

    recurrent: [directions, gates * hidden, hidden].  bias: [directions, gates * hidden], of inputs and recurrence.
    hidden_bias: [directions, hidden], of the hidden gate's recurrent product.
    """

    inputs: Array
    recurrent: Array
    bias: Array
    hidden_bias: Array


@lowers("LSTM", 22)
@lowers("GRU", 22)
@lowers("RNN", 22)
def lower_recurrence(op: BoundNode, lowering: Lowering) -> bool:
    x, weights = op.input(0), constant_weights(op, lowering)
    if x is None or weights is None or not is_supported_layer(op, lowering, x, weights):
        return False
    length, batch, _ = lowering.known_shape(x)
    backward = BACKWARD[op.attribute("direction", str)]
    projections = emit_input_projection(lowering, x, weights)
    hidden, rows = weights.recurrent.shape[2], weights.recurrent.shape[1]
    h, c = (initial_state(op, lowering, i, len(backward), hidden) for i in (5, 6))
    shape = (length, len(backward), batch, hidden)
    y, last_h, last_c = (
        output_tensor(op, lowering, i, dims) for i, dims in enumerate((shape, shape[1:], shape[1:]))
    )
    for d, is_backward in enumerate(backward):
        direction = RecurrentDirection(
            cell_kind(op),
            slice_axis(projections, 2, d * rows, rows),
            lowering.constant_tensor(weights.recurrent[d].T),
            lowering.constant_tensor(weights.hidden_bias[d]),
            select_entry(h, 0, d),
            select_entry(c, 0, d),
            select_entry(y, 1, d),
            select_entry(last_h, 0, d),
            select_entry(last_c, 0, d),
            is_backward,
        )
        lowering.emit(recurrence_step(direction))
    return True


def cell_kind(op: BoundNode) -> CellKind:
    """The kernel's kind of cell; a GRU that resets the state before its product (`linear_before_reset=0`) is a separate kind."""
    if op.op_type == "GRU" and not op.attribute("linear_before_reset", int):
        return "reset_gru"
    return CELL_KINDS[op.op_type]


def constant_weights(op: BoundNode, lowering: Lowering) -> RecurrentWeights | None:
    """The weights; None unless they are float32 constants of consistent shapes."""
    inputs, weights = lowering.constant(op.input(1)), lowering.constant(op.input(2))
    bias = lowering.constant(op.input(3))
    if inputs is None or weights is None or (bias is None and op.input(3) is not None):
        return None
    gates, count = GATE_COUNTS[CELL_KINDS[op.op_type]], len(BACKWARD.get(op.attribute("direction", str), ()))
    rows = weights.shape[1] if weights.ndim == 3 else 0
    if inputs.ndim != 3 or inputs.shape[:2] != (count, rows) or inputs.size == 0:
        return None
    if weights.shape != (count, rows, rows // gates) or rows % gates or weights.size == 0:
        return None
    bias = np.zeros((count, 2 * rows), np.float32) if bias is None else bias
    if bias.shape != (count, 2 * rows) or any(a.dtype != np.float32 for a in (inputs, weights, bias)):
        return None
    hidden, hidden_bias = rows // gates, bias[:, -(rows // gates) :].copy()
    bias_sum = bias[:, :rows] + bias[:, rows:]
    if cell_kind(op) == "gru":
        bias_sum[:, -hidden:] -= hidden_bias
    return RecurrentWeights(inputs, weights, bias_sum, hidden_bias)


def is_supported_layer(op: BoundNode, lowering: Lowering, x: Value, weights: RecurrentWeights) -> bool:
    if not is_native_float(lowering, x) or any(op.input(i) is not None for i in UNSUPPORTED_INPUTS):
        return False
    if op.optional("clip") is not None or not has_default_activations(op):
        return False
    if any(
        op.attributes.get(name, supported) != supported for name, supported in SUPPORTED_ATTRIBUTES.items()
    ):
        return False
    shape, (count, _, hidden) = lowering.known_shape(x), weights.recurrent.shape
    if len(shape) != 3 or shape[2] != weights.inputs.shape[2]:
        return False
    if op.attributes.get("hidden_size", hidden) not in (None, hidden):
        return False
    state_shape = (count, shape[1], hidden)
    expected = [(shape[0], count, *state_shape[1:]), state_shape, state_shape]
    results = enumerate(zip(op.node.outputs, expected, strict=False))
    if not all(lowering.shape(value) == dims for i, (value, dims) in results if op.is_output_used(i)):
        return False
    initial_states = [value for i in (5, 6) if (value := op.input(i)) is not None]
    return all(
        is_native_float(lowering, v) and guard_state_shape(lowering, lowering.known_shape(v), state_shape)
        for v in initial_states
    )


def guard_state_shape(lowering: Lowering, shape: Shape, state_shape: Shape) -> bool:
    """Whether an initial state has these dims in every run; guarded."""
    if len(shape) != len(state_shape) or any(
        known_equal(a, b) is False for a, b in zip(shape, state_shape, strict=True)
    ):
        return False
    lowering.guards.update(
        {(a, b): None for a, b in zip(shape, state_shape, strict=True) if not known_equal(a, b)}
    )
    return True


def has_default_activations(op: BoundNode) -> bool:
    activations = op.optional("activations")
    defaults = DEFAULT_ACTIVATIONS[op.op_type]
    return activations is None or (
        isinstance(activations, tuple | list) and tuple(activations) in (defaults, defaults * 2)
    )


def is_native_float(lowering: Lowering, value: Value) -> bool:
    return lowering.is_native(value) and lowering.dtype_of(value) is DataType.FLOAT


def emit_input_projection(lowering: Lowering, x: Value, weights: RecurrentWeights) -> TensorView:
    """Emits the product of inputs and input weights of all directions: [length, batch, directions * gates * hidden]."""
    source = lowering.dense(x)
    length, batch, size = source.shape
    matrix = weights.inputs.reshape(-1, weights.inputs.shape[2]).T
    panels = pack_constant(matrix, lowering.target)
    bias = make_constant(pack_bias(weights.bias.reshape(-1), panels.tile), "bias")
    gates = lowering.temporary(DataType.FLOAT, (length * batch, matrix.shape[1]), f"{x.name}.gates")
    lowering.emit(*matmul_steps(source.reshape((length * batch, size)), panels, gates, bias=bias))
    return gates.reshape((length, batch, matrix.shape[1]))


def initial_state(op: BoundNode, lowering: Lowering, index: int, count: int, hidden: int) -> TensorView:
    """An initial state [directions, batch, hidden]; zeros if it is omitted."""
    value = op.input(index)
    if value is not None:
        return lowering.dense(value)
    zeros = lowering.constant_tensor(np.zeros(hidden, np.float32), ("zeros", hidden))
    return replace(zeros, shape=(count, 1, hidden), strides=(0, 0, 1))


def output_tensor(op: BoundNode, lowering: Lowering, index: int, shape: Shape) -> TensorView:
    """The tensor of an output; a temporary if it is not used."""
    if op.is_output_used(index):
        return lowering.allocate_result(op.node.outputs[index])
    return lowering.temporary(DataType.FLOAT, shape, f"{op.output.name}.{index}")


def select_entry(tensor: TensorView, axis: int, index: int) -> TensorView:
    """The entry of an axis at an index, without that axis."""
    entry = slice_axis(tensor, axis, index, 1)
    axes = [i for i in range(entry.rank) if i != axis]
    return replace(
        entry, shape=tuple(entry.shape[i] for i in axes), strides=tuple(entry.strides[i] for i in axes)
    )

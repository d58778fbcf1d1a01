"""LSTM, GRU and RNN with constant weights: one GEMM projects all inputs, then a recurrence step per direction.

Falls back to the reference kernel for non-constant weights, sequence lengths, peepholes, clipping, batch-major layout and activations other than
the defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sardonyx._src.compile.kernels.gemm.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing import make_constant, pack_bias
from sardonyx._src.compile.kernels.gemm.panels import pack_constant
from sardonyx._src.compile.kernels.recurrent.cells import GATE_COUNTS, CellKind
from sardonyx._src.compile.kernels.recurrent.recurrence import RecurrentDirection, recurrence_step
from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.region import Read, Region, Shape, Write
from sardonyx._src.compile.partition.registry import matches
from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.compile.program.views import slice_axis
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


@dataclass(frozen=True, slots=True)
class RecurrenceConfig:
    """A recurrent layer: reads x, then the initial states that are passed (`states`: 5 for h, 6 for c).

    backward: of each direction.  used: the outputs that are read, and so have results.
    """

    cell: CellKind
    weights: RecurrentWeights
    backward: tuple[bool, ...]
    states: tuple[int, ...]
    used: tuple[int, ...]


@matches("LSTM", 22)
@matches("GRU", 22)
@matches("RNN", 22)
def match_recurrence(op: BoundNode, scope: Scope) -> Region[RecurrenceConfig] | None:
    x, weights = op.input(0), constant_weights(op, scope)
    if x is None or weights is None or not is_supported_layer(op, scope, x, weights):
        return None
    backward = BACKWARD[op.attribute("direction", str)]
    states = {i: value for i in (5, 6) if (value := op.input(i)) is not None}
    used = tuple(i for i in range(3) if op.is_output_used(i))
    config = RecurrenceConfig(cell_kind(op), weights, tuple(backward), tuple(states), used)
    reads = tuple(Read(value) for value in (x, *states.values()))
    return Region("Recurrence", (op.node,), config, reads, tuple(Write(op.node.outputs[i]) for i in used))


@lowers("Recurrence")
def lower_recurrence(region: LaidOutRegion[RecurrenceConfig], lowering: Lowering) -> Sequence[Step]:
    config, (x, *states) = region.config, region.operands
    weights, directions = config.weights, len(config.backward)
    rows, hidden = weights.recurrent.shape[1:]
    gates, steps = project_inputs(region, lowering, x)
    initial = dict(zip(config.states, states, strict=True))
    zeros = zero_state(lowering, directions, hidden)
    h, c = (initial.get(i, zeros) for i in (5, 6))
    y, last_h, last_c = result_tensors(region, lowering, (x.shape[0], directions, x.shape[1], hidden))
    for d, is_backward in enumerate(config.backward):
        direction = RecurrentDirection(
            config.cell,
            slice_axis(gates, 2, d * rows, rows),
            lowering.constant_tensor(weights.recurrent[d].T),
            lowering.constant_tensor(weights.hidden_bias[d]),
            select_entry(h, 0, d),
            select_entry(c, 0, d),
            select_entry(y, 1, d),
            select_entry(last_h, 0, d),
            select_entry(last_c, 0, d),
            is_backward,
        )
        steps.append(recurrence_step(direction))
    return steps


def project_inputs(
    region: LaidOutRegion[RecurrenceConfig], lowering: Lowering, x: TensorView
) -> tuple[TensorView, list[Step]]:
    """The product of inputs and input weights of all directions: [length, batch, directions * gates * hidden]."""
    length, batch, size = x.shape
    weights = region.config.weights
    matrix = weights.inputs.reshape(-1, weights.inputs.shape[2]).T
    panels = pack_constant(matrix, lowering.target)
    bias = make_constant(pack_bias(weights.bias.reshape(-1), panels.tile), "bias")
    gates = lowering.temporary(DataType.FLOAT, (length * batch, matrix.shape[1]), f"{region.name}.gates")
    steps = matmul_steps(x.reshape((length * batch, size)), panels, gates, bias=bias)
    return gates.reshape((length, batch, matrix.shape[1])), list(steps)


def zero_state(lowering: Lowering, directions: int, hidden: int) -> TensorView:
    """An initial state [directions, batch, hidden] of zeros."""
    zeros = lowering.constant_tensor(np.zeros(hidden, np.float32), ("zeros", hidden))
    return replace(zeros, shape=(directions, 1, hidden), strides=(0, 0, 1))


def result_tensors(
    region: LaidOutRegion[RecurrenceConfig], lowering: Lowering, shape: Shape
) -> list[TensorView]:
    """The tensors of all states and of the last two; temporaries for those that are not used."""
    results = dict(zip(region.config.used, region.results, strict=True))
    return [
        results.get(i) or lowering.temporary(DataType.FLOAT, dims, f"{region.name}.{i}")
        for i, dims in enumerate((shape, shape[1:], shape[1:]))
    ]


def cell_kind(op: BoundNode) -> CellKind:
    """The kernel's kind of cell; a GRU that resets the state before its product (`linear_before_reset=0`) is a separate kind."""
    if op.op_type == "GRU" and not op.attribute("linear_before_reset", int):
        return "reset_gru"
    return CELL_KINDS[op.op_type]


def constant_weights(op: BoundNode, scope: Scope) -> RecurrentWeights | None:
    """The weights; None unless they are float32 constants of consistent shapes."""
    inputs, weights = scope.constant(op.input(1)), scope.constant(op.input(2))
    bias = scope.constant(op.input(3))
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


def is_supported_layer(op: BoundNode, scope: Scope, x: Value, weights: RecurrentWeights) -> bool:
    if not is_native_float(scope, x) or any(op.input(i) is not None for i in UNSUPPORTED_INPUTS):
        return False
    if op.optional("clip") is not None or not has_default_activations(op):
        return False
    if any(
        op.attributes.get(name, supported) != supported for name, supported in SUPPORTED_ATTRIBUTES.items()
    ):
        return False
    shape, (count, _, hidden) = scope.known_shape(x), weights.recurrent.shape
    if len(shape) != 3 or shape[2] != weights.inputs.shape[2]:
        return False
    if op.attributes.get("hidden_size", hidden) not in (None, hidden):
        return False
    state_shape = (count, shape[1], hidden)
    expected = [(shape[0], count, *state_shape[1:]), state_shape, state_shape]
    results = enumerate(zip(op.node.outputs, expected, strict=False))
    if not all(scope.shape(value) == dims for i, (value, dims) in results if op.is_output_used(i)):
        return False
    initial_states = [value for i in (5, 6) if (value := op.input(i)) is not None]
    return all(
        is_native_float(scope, v) and guard_state_shape(scope, scope.known_shape(v), state_shape)
        for v in initial_states
    )


def guard_state_shape(scope: Scope, shape: Shape, state_shape: Shape) -> bool:
    """Whether an initial state has these dims in every run; guarded."""
    if len(shape) != len(state_shape) or any(
        known_equal(a, b) is False for a, b in zip(shape, state_shape, strict=True)
    ):
        return False
    for a, b in zip(shape, state_shape, strict=True):
        if not known_equal(a, b):
            scope.guard(a, b)
    return True


def has_default_activations(op: BoundNode) -> bool:
    activations = op.optional("activations")
    defaults = DEFAULT_ACTIVATIONS[op.op_type]
    return activations is None or (
        isinstance(activations, tuple | list) and tuple(activations) in (defaults, defaults * 2)
    )


def is_native_float(scope: Scope, value: Value) -> bool:
    return scope.is_native(value) and scope.dtype_of(value) is DataType.FLOAT


def select_entry(tensor: TensorView, axis: int, index: int) -> TensorView:
    """The entry of an axis at an index, without that axis."""
    entry = slice_axis(tensor, axis, index, 1)
    axes = [i for i in range(entry.rank) if i != axis]
    return replace(
        entry, shape=tuple(entry.shape[i] for i in axes), strides=tuple(entry.strides[i] for i in axes)
    )

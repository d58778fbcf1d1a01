"""LSTM, GRU and RNN of constant weights, with the activations that they have by default."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sardonyx._src.compile.fusion import Shape
from sardonyx._src.compile.lower.views import cut
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.products.matmul import matmul
from sardonyx._src.compile.products.packing import constant, packed_bias
from sardonyx._src.compile.products.panels import constant_panels
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.rows.recurrence import GATES, Cell, Recurrence, recurrent
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import known_equal
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.nn.recurrence import BACKWARD

CELLS: dict[str, Cell] = {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn"}
LEFT_OUT = (4, 7)  # lengths of the sequences, and peepholes
PLAIN = {"layout": 0, "input_forget": 0}
FUNCTIONS = {
    "LSTM": ("Sigmoid", "Tanh", "Tanh"),
    "GRU": ("Sigmoid", "Tanh"),
    "RNN": ("Tanh",),
}  # of a direction


@dataclass(frozen=True, slots=True)
class Weights:
    """inputs: [directions, gates * hidden, input].  recurrent: [directions, gates * hidden, hidden].

    bias: [directions, gates * hidden].  late: [directions, hidden].
    """

    inputs: Array
    recurrent: Array
    bias: Array
    late: Array


@lowers("LSTM", 22)
@lowers("GRU", 22)
@lowers("RNN", 22)
def lower(call: Call, at: Lowering) -> bool:
    x, weights = call.input(0), weights_of(call, at)
    if x is None or weights is None or not fits(call, at, x, weights):
        return False
    length, batch, _ = at.known_shape(x)
    backward = BACKWARD[call.attribute("direction", str)]
    given = projected(at, x, weights)
    hidden, rows = weights.recurrent.shape[2], weights.recurrent.shape[1]
    h, c = (state(call, at, i, len(backward), hidden) for i in (5, 6))
    shape = (length, len(backward), batch, hidden)
    y, last_h, last_c = (output(call, at, i, dims) for i, dims in enumerate((shape, shape[1:], shape[1:])))
    for d, is_backward in enumerate(backward):
        net = Recurrence(
            cell_of(call),
            cut(given, 2, d * rows, rows),
            at.constant_tensor(weights.recurrent[d].T),
            at.constant_tensor(weights.late[d]),
            one(h, 0, d),
            one(c, 0, d),
            one(y, 1, d),
            one(last_h, 0, d),
            one(last_c, 0, d),
            is_backward,
        )
        at.emit(recurrent(net))
    return True


def cell_of(call: Call) -> Cell:
    """The kind of cell; a GRU whose reset gate weighs the state itself, before the product, is one of its own."""
    if call.op_type == "GRU" and not call.attribute("linear_before_reset", int):
        return "reset_gru"
    return CELLS[call.op_type]


def weights_of(call: Call, at: Lowering) -> Weights | None:
    """None where weights are no constants of float32 that fit one another."""
    inputs, weights = at.constant(call.input(1)), at.constant(call.input(2))
    bias = at.constant(call.input(3))
    if inputs is None or weights is None or (bias is None and call.input(3) is not None):
        return None
    gates, count = GATES[CELLS[call.op_type]], len(BACKWARD.get(call.attribute("direction", str), ()))
    rows = weights.shape[1] if weights.ndim == 3 else 0
    if inputs.ndim != 3 or inputs.shape[:2] != (count, rows) or inputs.size == 0:
        return None
    if weights.shape != (count, rows, rows // gates) or rows % gates or weights.size == 0:
        return None
    bias = np.zeros((count, 2 * rows), np.float32) if bias is None else bias
    if bias.shape != (count, 2 * rows) or any(a.dtype != np.float32 for a in (inputs, weights, bias)):
        return None
    hidden, late = rows // gates, bias[:, -(rows // gates) :].copy()
    total = bias[:, :rows] + bias[:, rows:]
    if cell_of(call) == "gru":
        total[:, -hidden:] -= late
    return Weights(inputs, weights, total, late)


def fits(call: Call, at: Lowering, x: Value, weights: Weights) -> bool:
    if not is_float(at, x) or any(call.input(i) is not None for i in LEFT_OUT):
        return False
    if call.optional("clip") is not None or not has_usual_functions(call):
        return False
    if any(call.attributes.get(name, plain) != plain for name, plain in PLAIN.items()):
        return False
    shape, (count, _, hidden) = at.known_shape(x), weights.recurrent.shape
    if len(shape) != 3 or shape[2] != weights.inputs.shape[2]:
        return False
    if call.attributes.get("hidden_size", hidden) not in (None, hidden):
        return False
    state = (count, shape[1], hidden)
    wanted = [(shape[0], count, *state[1:]), state, state]
    results = enumerate(zip(call.node.outputs, wanted, strict=False))
    if not all(at.shape(value) == dims for i, (value, dims) in results if call.wanted(i)):
        return False
    first = [value for i in (5, 6) if (value := call.input(i)) is not None]
    return all(is_float(at, v) and is_state(at, at.known_shape(v), state) for v in first)


def is_state(at: Lowering, shape: Shape, state: Shape) -> bool:
    """Whether first states have these dims in every run; where that is not known, runs are held to it."""
    if len(shape) != len(state) or any(known_equal(a, b) is False for a, b in zip(shape, state, strict=True)):
        return False
    at.demands.update({(a, b): None for a, b in zip(shape, state, strict=True) if not known_equal(a, b)})
    return True


def has_usual_functions(call: Call) -> bool:
    named = call.optional("activations")
    usual = FUNCTIONS[call.op_type]
    return named is None or (isinstance(named, tuple | list) and tuple(named) in (usual, usual * 2))


def is_float(at: Lowering, value: Value) -> bool:
    return at.is_native(value) and at.dtype_of(value) is DataType.FLOAT


def projected(at: Lowering, x: Value, weights: Weights) -> Tensor:
    """What the inputs give to the gates of all directions: [length, batch, directions * gates * hidden]."""
    source = at.dense(x)
    length, batch, size = source.shape
    matrix = weights.inputs.reshape(-1, weights.inputs.shape[2]).T
    panels = constant_panels(matrix, at.target)
    bias = constant(packed_bias(weights.bias.reshape(-1), panels.tile), "bias")
    made = at.temporary(DataType.FLOAT, (length * batch, matrix.shape[1]), f"{x.name}.gates")
    at.emit(*matmul(source.reshaped((length * batch, size)), panels, made, bias=bias))
    return made.reshaped((length, batch, matrix.shape[1]))


def state(call: Call, at: Lowering, index: int, count: int, hidden: int) -> Tensor:
    """First states, [directions, batch, hidden]: zeros where they are left out."""
    value = call.input(index)
    if value is not None:
        return at.dense(value)
    zeros = at.constant_tensor(np.zeros(hidden, np.float32), ("zeros", hidden))
    return replace(zeros, shape=(count, 1, hidden), strides=(0, 0, 1))


def output(call: Call, at: Lowering, index: int, shape: Shape) -> Tensor:
    """Memory for a result, if only for the kernel's own use."""
    if call.wanted(index):
        return at.result(call.node.outputs[index])
    return at.temporary(DataType.FLOAT, shape, f"{call.output.name}.{index}")


def one(tensor: Tensor, axis: int, place: int) -> Tensor:
    """One entry of an axis, without that axis."""
    found = cut(tensor, axis, place, 1)
    keep = [i for i in range(found.rank) if i != axis]
    return replace(
        found, shape=tuple(found.shape[i] for i in keep), strides=tuple(found.strides[i] for i in keep)
    )

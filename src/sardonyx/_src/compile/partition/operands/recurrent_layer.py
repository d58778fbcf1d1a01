"""The attributes and operands of LSTM, GRU and RNN nodes, checked for the recurrent kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sardonyx._src.compile.kernels.recurrent.variant import GATE_COUNTS, CellKind
from sardonyx._src.compile.partition import BoundNode, Scope, Shape
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Value
from sardonyx._src.ir.dims import known_equal
from sardonyx._src.ops.nn.recurrence import BACKWARD
from sardonyx._src.ops.nn.recurrent_activations import Activation, choose_activations, per_direction

CELL_KINDS: dict[str, CellKind] = {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn"}
OPERANDS = ("X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P")
DEFAULT_ACTIVATIONS: dict[str, tuple[str, ...]] = {
    "LSTM": ("Sigmoid", "Tanh", "Tanh"),
    "GRU": ("Sigmoid", "Tanh"),
    "RNN": ("Tanh",),
}  # per direction
FLOATS = (DataType.FLOAT, DataType.DOUBLE)
MAX_HIDDEN_SIZE = 1 << 16  # weights and state of each hidden unit are laid out at compile time


@dataclass(frozen=True, slots=True)
class RecurrenceConfig:
    """A recurrent layer.

    activations: the activations of each direction.
    backward: for each direction, whether it reads the sequence from its end.
    clip: the bound of the inputs of activations; None for no bound.
    is_coupled: whether the forget gate of an LSTM is 1 minus its input gate.
    is_batch_first: whether the batch is the first dim of X, Y and the states (`layout=1`).
    constants: the elements of W, R and B, as far as they are constant.
    reads: the names of the operands of the region.
    used: the indices of the node's outputs that are read.
    """

    cell: CellKind
    hidden: int
    activations: tuple[tuple[Activation, ...], ...]
    clip: float | None
    is_coupled: bool
    backward: tuple[bool, ...]
    is_batch_first: bool
    constants: Mapping[str, Array]
    reads: tuple[str, ...]
    used: tuple[int, ...]

    @property
    def rows(self) -> int:
        """The rows of W and R in a direction: one for each gate and hidden unit."""
        return GATE_COUNTS[self.cell] * self.hidden


def layer_config(op: BoundNode, scope: Scope) -> RecurrenceConfig | None:
    """The layer of a node; None if its hidden size is unknown or 0, or no kernel supports its operands."""
    values = {name: v for i, name in enumerate(OPERANDS) if (v := op.input(i)) is not None}
    backward, activations = BACKWARD.get(op.attribute("direction", str)), layer_activations(op)
    if {"X", "W", "R"} - values.keys() or backward is None or activations is None:
        return None
    if not all(map(scope.is_native, values.values())) or scope.dtype_of(values["X"]) not in FLOATS:
        return None
    hidden, clip = hidden_size(op, scope, values), op.optional("clip")
    if isinstance(clip, float) and math.isnan(clip):
        return None  # all results must be NaN, and the kernel's minimum with a NaN bound is not
    is_batch_first = bool(op.attribute("layout", int))
    if hidden is None or not guard_shapes(
        op, scope, values, hidden, len(backward), batch_first=is_batch_first
    ):
        return None
    arrays = {
        name: array for name in ("W", "R", "B") if (array := scope.constant(values.get(name))) is not None
    }
    return RecurrenceConfig(
        cell_kind(op),
        hidden,
        activations,
        float(clip) if isinstance(clip, float | int) else None,
        bool(op.attributes.get("input_forget", 0)),
        tuple(backward),
        is_batch_first,
        arrays,
        tuple(name for name in values if name not in arrays),
        tuple(i for i in range(len(op.node.outputs)) if op.is_output_used(i)),
    )


def cell_kind(op: BoundNode) -> CellKind:
    """The kernel's kind of cell; a GRU that resets the state before its product (`linear_before_reset=0`) is a separate kind."""
    if op.op_type == "GRU" and not op.attribute("linear_before_reset", int):
        return "reset_gru"
    return CELL_KINDS[op.op_type]


def layer_activations(op: BoundNode) -> tuple[tuple[Activation, ...], ...] | None:
    """The activations of each direction; None for invalid ones."""
    defaults, directions = DEFAULT_ACTIVATIONS[op.op_type], len(BACKWARD[op.attribute("direction", str)])
    names, alpha, beta = (op.optional(f"activation{end}") for end in ("s", "_alpha", "_beta"))
    try:
        chosen = choose_activations(
            per_direction(names if isinstance(names, tuple | list) else None, defaults, directions),
            alpha if isinstance(alpha, tuple | list) else (),
            beta if isinstance(beta, tuple | list) else (),
        )
    except EvaluationError:
        return None
    size = len(defaults)
    return tuple(tuple(chosen[size * d : size * (d + 1)]) for d in range(directions))


def hidden_size(op: BoundNode, scope: Scope, values: Mapping[str, Value]) -> int | None:
    """The hidden size, by the attribute or the dims of R; None if it is unknown, 0 or too large."""
    shape = scope.known_shape(values["R"])
    size = op.optional("hidden_size")
    size = size if isinstance(size, int) else shape[2] if len(shape) == 3 else None
    return size if isinstance(size, int) and 0 < size <= MAX_HIDDEN_SIZE else None


def guard_shapes(
    op: BoundNode,
    scope: Scope,
    values: Mapping[str, Value],
    hidden: int,
    directions: int,
    *,
    batch_first: bool,
) -> bool:
    """Whether operands and used results have the dims of the layer in every run; guarded."""
    x = scope.known_shape(values["X"])
    if len(x) != 3:
        return False
    length, batch = (x[1], x[0]) if batch_first else (x[0], x[1])
    rows = GATE_COUNTS[CELL_KINDS[op.op_type]] * hidden
    state: Shape = (batch, directions, hidden) if batch_first else (directions, batch, hidden)
    output: Shape = (*x[:2], directions, hidden) if batch_first else (length, directions, batch, hidden)
    shapes: dict[str, Shape] = {
        "W": (directions, rows, x[2]),
        "R": (directions, rows, hidden),
        "B": (directions, 2 * rows),
        "sequence_lens": (batch,),
        "initial_h": state,
        "initial_c": state,
        "P": (directions, 3 * hidden),
    }
    pairs = [(value, shapes[name]) for name, value in values.items() if name in shapes]
    results = enumerate(op.node.outputs)
    pairs += [(value, state if i else output) for i, value in results if op.is_output_used(i)]
    return all(guard_shape(scope, scope.shape(value), shape) for value, shape in pairs)


def guard_shape(scope: Scope, shape: Shape | None, expected: Shape) -> bool:
    """Whether a value has these dims in every run; guarded."""
    if shape is None or len(shape) != len(expected):
        return False
    pairs = [(a, b) for a, b in zip(shape, expected, strict=True) if not known_equal(a, b)]
    if any(known_equal(a, b) is False for a, b in pairs):
        return False
    for a, b in pairs:
        scope.guard(a, b)
    return True

"""LSTM, GRU and RNN kernels: the recurrence over time, with the input projections already computed by a GEMM.

In each time step, the recurrent part of the gates is the product of the previous state and the weights.  Loop nest:

    for each unit of `unit_sequences` sequences of the batch, which share the weights they load:
        for each time step:
            for each block of gate columns, k in hidden: gates [sequences, columns] += h[sequence, k] * weights[k, columns]
            for each sequence: the cell's equations, SIMD lanes along hidden

`cells` has the equations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.parameters import Parameters
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.recurrent.cells import CELLS, GATE_COUNTS, CellKind, CellVector
from sardonyx._src.compile.kernels.reductions.reducers import new_accumulators
from sardonyx._src.compile.kernels.reductions.rows import (
    load_element,
    load_vector,
    loop_single_vectors,
    loop_vector_blocks,
    store_vector,
)
from sardonyx._src.compile.kernels.tuning import RecurrenceTuning
from sardonyx._src.compile.program.step import Kernel, KernelArgument, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import ceil_div

TENSORS = ("input_gates", "weights", "hidden_bias", "h", "c", "y", "last_h", "last_c")
STRIDES = (  # along time, and along the batch
    *("input_gates_time_stride", "input_gates_stride", "y_time_stride", "y_stride"),
    *("h_stride", "c_stride", "last_h_stride", "last_c_stride"),
)
PARAMETERS = Parameters(*TENSORS, "length", "batch", "hidden", *STRIDES)


@dataclass(frozen=True, slots=True)
class RecurrentDirection:
    """One direction of a layer; all tensors are fp32 with contiguous rows.

    input_gates: [length, batch, gates * hidden], the input projections with all biases, except `hidden_bias`.  weights:
    [hidden, gates * hidden], the recurrent weights, transposed.  hidden_bias: [hidden], the recurrent bias of the hidden
    gate, which the reset gate of a "gru" scales.  h, c: [batch, hidden], the initial states.  y: [length, batch, hidden].
    last_h, last_c: [batch, hidden].  c and last_c are used by "lstm" only.
    """

    cell: CellKind
    input_gates: TensorView
    weights: TensorView
    hidden_bias: TensorView
    h: TensorView
    c: TensorView
    y: TensorView
    last_h: TensorView
    last_c: TensorView
    backward: bool


def recurrence_step(direction: RecurrentDirection, nodes: tuple[str, ...] = ()) -> Step:
    """The step for all time steps of a direction."""
    if direction.backward:
        input_gates, y = reverse_time(direction.input_gates), reverse_time(direction.y)
        direction = replace(direction, input_gates=input_gates, y=y)
    input_gates, y = direction.input_gates, direction.y
    (length, batch, hidden), gates = y.shape, GATE_COUNTS[direction.cell]
    tensors: dict[str, TensorView] = {name: getattr(direction, name) for name in TENSORS}
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        **tensors,
        length=length,
        batch=batch,
        hidden=hidden,
        input_gates_time_stride=input_gates.strides[0],
        input_gates_stride=input_gates.strides[1],
        y_time_stride=y.strides[0],
        y_stride=y.strides[1],
        h_stride=direction.h.strides[0],
        c_stride=direction.c.strides[0],
        last_h_stride=direction.last_h.strides[0],
        last_c_stride=direction.last_c.strides[0],
    )
    return Step(
        Kernel(f"recurrence_{direction.cell}", partial(recurrence_module, cell=direction.cell), PARAMETERS),
        args,
        ceil_div(batch, RecurrenceTuning.unit_sequences),
        (input_gates, direction.weights, direction.hidden_bias, direction.h, direction.c),
        (y, direction.last_h, direction.last_c),
        flops=input_gates.num_elements * hidden * 2,
        bytes_accessed=input_gates.nbytes + y.nbytes + direction.weights.nbytes * length,
        scratch=hidden * (4 * RecurrenceTuning.unit_sequences * (gates + 2)),
        nodes=nodes,
    )


def reverse_time(tensor: TensorView) -> TensorView:
    """The view of a tensor with its first dim reversed."""
    stride = tensor.strides[0]
    offset = tensor.offset + (tensor.shape[0] - 1) * stride
    return replace(tensor, strides=(-stride, *tensor.strides[1:]), offset=offset)


def recurrence_module(name: str, target: Target, cell: CellKind) -> str:
    """The kernel of a cell; the sequences of a unit are computed together, or one by one if the unit is not full."""
    b = KernelBuilder(target, PARAMETERS)
    recurrence, sequences = load_arguments(b, cell), RecurrenceTuning.unit_sequences
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        first = unit * sequences
        end, batch = first + sequences, recurrence.batch
        with b.if_then(end <= batch):
            compute_sequences(recurrence, first, sequences)
        remainder = b.select(end <= batch, batch, first)
        with b.loop(remainder, batch, name="sequence") as sequence:
            compute_sequences(recurrence, sequence, 1)
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class StateBuffers:
    """Addresses in scratch for one sequence.

    state: h [hidden] and either c or, of a "reset_gru", the reset state.  gates: the recurrent part [gates * hidden].
    """

    state: tuple[str, str]
    gates: str


@dataclass(frozen=True, slots=True)
class Recurrence:
    """The arguments of the kernel.

    tensors, strides: by name.  gate_columns: gates * hidden.  unit_buffers: the buffers of each sequence of a unit.
    """

    b: KernelBuilder
    cell: CellKind
    vector_type: LLVMType
    tensors: dict[str, str]
    strides: dict[str, LLVMValue]
    length: LLVMValue
    batch: LLVMValue
    hidden: LLVMValue
    gate_columns: LLVMValue
    unit_buffers: list[StateBuffers]

    @property
    def zero(self) -> LLVMValue:
        return self.b.constant(0, I64)

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the states that the cell keeps from one time step to the next."""
        return ("h", "c") if self.cell == "lstm" else ("h",)

    def state_row(self, tensor: str, sequence: LLVMValue) -> str:
        """The address of the row of a sequence in a tensor [batch, hidden]."""
        return self.b.gep(self.tensors[tensor], sequence * self.strides[f"{tensor}_stride"])

    def time_row(self, tensor: str, time: LLVMValue, sequence: LLVMValue) -> str:
        """The address of the row of a sequence in a tensor [length, batch, columns]."""
        time_offset = time * self.strides[f"{tensor}_time_stride"]
        return self.b.gep(self.tensors[tensor], time_offset + sequence * self.strides[f"{tensor}_stride"])

    def load(self, base: str, index: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
        return load_vector(self.b, self.vector_type, base, index, mask)

    def buffers(self, index: LLVMValue) -> StateBuffers:
        """The buffers of sequence number `index` of a unit."""
        return state_buffers(self.b, self.cell, self.hidden, index)


def load_arguments(b: KernelBuilder, cell: CellKind) -> Recurrence:
    tensors = {name: b.pointer(name) for name in TENSORS}
    length, batch, hidden = b.integers("length", "batch", "hidden")
    strides = {name: b.integer(name) for name in STRIDES}
    gate_columns = hidden * GATE_COUNTS[cell]
    sequences = range(RecurrenceTuning.unit_sequences)
    buffers = [state_buffers(b, cell, hidden, b.constant(i, I64)) for i in sequences]
    vector_type = LLVMType("float", b.target.lanes)
    return Recurrence(b, cell, vector_type, tensors, strides, length, batch, hidden, gate_columns, buffers)


def state_buffers(b: KernelBuilder, cell: CellKind, hidden: LLVMValue, index: LLVMValue) -> StateBuffers:
    first = index * (GATE_COUNTS[cell] + 2)
    h, c, gates = (b.gep(b.scratch, (first + i) * hidden) for i in range(3))
    return StateBuffers((h, c), gates)


def compute_sequences(recurrence: Recurrence, first: LLVMValue, count: int) -> None:
    """All time steps of `count` sequences."""
    b, zero, end = recurrence.b, recurrence.zero, recurrence.b.constant(count, I64)
    with b.loop(zero, end) as i:
        sequence, buffers = first + i, recurrence.buffers(i)
        for number, state in enumerate(recurrence.states):
            copy_row(recurrence, recurrence.state_row(state, sequence), buffers.state[number])
    with b.loop(zero, recurrence.length, name="time") as time:
        compute_time_step(recurrence, time, first, count)
    with b.loop(zero, end) as i:
        sequence, buffers = first + i, recurrence.buffers(i)
        for number, state in enumerate(recurrence.states):
            copy_row(recurrence, buffers.state[number], recurrence.state_row(f"last_{state}", sequence))


def compute_time_step(recurrence: Recurrence, time: LLVMValue, first: LLVMValue, count: int) -> None:
    """The recurrent product and the next state of each sequence.  A "reset_gru" resets the state between two products."""
    b, zero, hidden, end = recurrence.b, recurrence.zero, recurrence.hidden, recurrence.b.constant(count, I64)
    if recurrence.cell == "reset_gru":
        multiply_state(recurrence, zero, hidden * 2, 0, count)
        with b.loop(zero, end) as i:
            reset_state(recurrence, time, first + i, recurrence.buffers(i))
        multiply_state(recurrence, hidden * 2, hidden, 1, count)
    else:
        multiply_state(recurrence, zero, recurrence.gate_columns, 0, count)
    with b.loop(zero, end) as i:
        update_state(recurrence, time, first + i, recurrence.buffers(i))


def copy_row(recurrence: Recurrence, source: str, target: str) -> None:
    b = recurrence.b
    for index, mask in loop_single_vectors(b, recurrence.hidden, recurrence.vector_type.lanes):
        store_vector(b, recurrence.load(source, index, mask), target, index, mask)


# --- the recurrent product -------------------------------------------------------------------


def multiply_state(
    recurrence: Recurrence, first: LLVMValue, columns: LLVMValue, state: int, count: int
) -> None:
    """gates[:, first : first + columns] = state * weights, for `count` sequences; state: index in their buffers."""
    b, lanes = recurrence.b, recurrence.vector_type.lanes
    unroll = max(b.target.registers // 2 // count, 1)
    for i, vectors, mask in loop_vector_blocks(b, columns, lanes, unroll):
        multiply_columns(recurrence, first + i, vectors, mask, recurrence.unit_buffers[:count], state)


def multiply_columns(
    recurrence: Recurrence,
    column: LLVMValue,
    vectors: int,
    mask: LLVMValue | None,
    buffers: list[StateBuffers],
    state: int,
) -> None:
    """A register tile of the product: all sequences by `vectors` vectors of columns."""
    b, lanes = recurrence.b, recurrence.vector_type.lanes
    tile = [new_accumulators(b, recurrence.vector_type, 0, vectors) for _ in buffers]
    with b.loop(recurrence.zero, recurrence.hidden, name="k") as k:
        row = b.gep(recurrence.tensors["weights"], k * recurrence.gate_columns)
        weights = [recurrence.load(row, column + v * lanes, mask) for v in range(vectors)]
        for sequence, sums in zip(buffers, tile, strict=True):
            h = b.splat(load_element(b, "float", sequence.state[state], k), lanes)
            for weight, slot in zip(weights, sums, strict=True):
                b.store(slot, b.fma(h, weight, b.load(slot)))
    for sequence, sums in zip(buffers, tile, strict=True):
        for v, slot in enumerate(sums):
            store_vector(b, b.load(slot), sequence.gates, column + v * lanes, mask)


# --- the cell --------------------------------------------------------------------------------


def reset_state(recurrence: Recurrence, time: LLVMValue, sequence: LLVMValue, buffers: StateBuffers) -> None:
    """The reset state of a "reset_gru": r * h."""
    b, hidden = recurrence.b, recurrence.hidden
    inputs = recurrence.time_row("input_gates", time, sequence)
    for index, mask in loop_single_vectors(b, hidden, recurrence.vector_type.lanes):
        column = hidden + index
        r = recurrence.load(inputs, column, mask) + recurrence.load(buffers.gates, column, mask)
        reset = b.emit_operation("sigmoid", r) * recurrence.load(buffers.state[0], index, mask)
        store_vector(b, reset, buffers.state[1], index, mask)


def update_state(recurrence: Recurrence, time: LLVMValue, sequence: LLVMValue, buffers: StateBuffers) -> None:
    """The next state of a sequence, which is its output."""
    b, hidden, vector_type = recurrence.b, recurrence.hidden, recurrence.vector_type
    inputs = recurrence.time_row("input_gates", time, sequence)
    output = recurrence.time_row("y", time, sequence)
    for index, mask in loop_single_vectors(b, hidden, vector_type.lanes):
        columns = (hidden * gate + index for gate in range(GATE_COUNTS[recurrence.cell]))
        gates = [
            (recurrence.load(inputs, column, mask), recurrence.load(buffers.gates, column, mask))
            for column in columns
        ]
        units = CellVector(b, vector_type, *buffers.state, index, mask)
        h = CELLS[recurrence.cell](units, gates, recurrence.tensors["hidden_bias"])
        for target in (buffers.state[0], output):
            store_vector(b, h, target, index, mask)

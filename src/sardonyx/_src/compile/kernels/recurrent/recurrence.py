"""LSTM, GRU and RNN kernels: the recurrence over time, with the input projections already computed by a GEMM.

In each time step, the recurrent part of the gates is the product of the previous state and the weights.  Loop nest:

    for each unit of UNIT_SEQUENCES sequences of the batch, which share the weights they load:
        for each time step:
            for each block of gate columns, k in hidden: gates [sequences, columns] += h[sequence, k] * weights[k, columns]
            for each sequence: the cell's equations, SIMD lanes along hidden

The equations are those of ONNX with its default activations; gates are in ONNX's order (LSTM: i, o, f, c; GRU: z, r, h).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.reductions.row_emitter import RowEmitter
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import ceil_div

# The reset gate of a "gru" scales the recurrent product (ONNX: linear_before_reset), that of a "reset_gru" the state.
CellKind = Literal["lstm", "gru", "reset_gru", "rnn"]
UNIT_SEQUENCES = 4  # sequences that share each load of the weights
GATE_COUNTS: dict[CellKind, int] = {"lstm": 4, "gru": 3, "reset_gru": 3, "rnn": 1}


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
    input_gates, y = direction.input_gates, direction.y
    if direction.backward:
        input_gates, y = reverse_time(input_gates), reverse_time(y)
    (length, batch, hidden), gates = y.shape, GATE_COUNTS[direction.cell]
    states = (direction.h, direction.c, direction.last_h, direction.last_c)
    reads = (input_gates, direction.weights, direction.hidden_bias, direction.h, direction.c)
    writes = (y, direction.last_h, direction.last_c)
    strides = (*input_gates.strides[:2], *y.strides[:2], *(state.strides[0] for state in states))
    return Step(
        Kernel(
            f"recurrence_{direction.cell}",
            lambda name, target: RecurrenceEmitter(target, direction.cell).build_module(name),
        ),
        (*reads, *writes, length, batch, hidden, *strides),
        ceil_div(batch, UNIT_SEQUENCES),
        reads,
        writes,
        flops=input_gates.num_elements * hidden * 2,
        bytes_accessed=input_gates.nbytes + y.nbytes + direction.weights.nbytes * length,
        scratch=hidden * (4 * UNIT_SEQUENCES * (gates + 2)),
        nodes=nodes,
    )


def reverse_time(tensor: TensorView) -> TensorView:
    """The view of a tensor with its first dim reversed."""
    stride = tensor.strides[0]
    offset = tensor.offset + (tensor.shape[0] - 1) * stride
    return replace(tensor, strides=(-stride, *tensor.strides[1:]), offset=offset)


@dataclass(frozen=True, slots=True)
class StateBuffers:
    """Addresses in scratch for one sequence.

    state: h [hidden] and either c or, of a "reset_gru", the reset state.  gates: the recurrent part [gates * hidden].
    """

    state: tuple[str, str]
    gates: str


class RecurrenceEmitter(RowEmitter):
    """Emits the kernel of a cell.

    Arguments: pointers to input_gates, weights, hidden_bias, h, c, y, last_h and last_c; length, batch, hidden; strides
    of input_gates and of y along time and batch; strides of h, c, last_h and last_c along batch.
    """

    def __init__(self, target: Target, cell: CellKind) -> None:
        super().__init__(target)
        self.cell, self.max_accumulators = cell, max(target.registers // 2, 1)
        self.num_states = 2 if cell == "lstm" else 1
        self.input_gates, self.weights, self.hidden_bias, *pointers = (
            self.pointer_argument(i) for i in range(8)
        )
        self.length, self.batch, self.hidden = (self.size_argument(i) for i in range(8, 11))
        self.strides = [self.size_argument(i) for i in range(11, 19)]
        self.initial_states, self.y, self.last_states = pointers[:2], pointers[2], pointers[3:]
        self.gate_columns = self.hidden * GATE_COUNTS[cell]
        self.unit_buffers = [self.state_buffers(self.constant(i, I64)) for i in range(UNIT_SEQUENCES)]
        self.loop_call(self.first_unit, self.end_unit, 1, self.emit_unit, "unit")

    def state_buffers(self, index: LLVMValue) -> StateBuffers:
        """The buffers of one of the sequences of a unit."""
        first = index * (GATE_COUNTS[self.cell] + 2)
        h, c, gates = (self.element_pointer(self.scratch, (first + i) * self.hidden) for i in range(3))
        return StateBuffers((h, c), gates)

    def emit_unit(self, unit: LLVMValue) -> None:
        """All sequences of a unit together, or one by one if the unit is not full."""
        first = unit * UNIT_SEQUENCES
        end = first + UNIT_SEQUENCES
        self.if_then_call(end <= self.batch, lambda: self.emit_sequences(first, UNIT_SEQUENCES))
        remainder = self.select(end <= self.batch, self.batch, first)
        self.loop_call(
            remainder, self.batch, 1, lambda sequence: self.emit_sequences(sequence, 1), "sequence"
        )

    def emit_sequences(self, first: LLVMValue, count: int) -> None:
        """All time steps of `count` sequences."""
        end = self.constant(count, I64)
        self.loop_call(
            self.zero, end, 1, lambda i: self.load_states(first + i, self.state_buffers(i)), "begin"
        )

        def emit_time_step(time: LLVMValue) -> None:
            if self.cell == "reset_gru":
                self.multiply_state(self.zero, self.hidden * 2, 0, count)
                self.loop_call(
                    self.zero,
                    end,
                    1,
                    lambda i: self.reset_state(time, first + i, self.state_buffers(i)),
                    "weigh",
                )
                self.multiply_state(self.hidden * 2, self.hidden, 1, count)
            else:
                self.multiply_state(self.zero, self.gate_columns, 0, count)
            self.loop_call(
                self.zero,
                end,
                1,
                lambda i: self.update_state(time, first + i, self.state_buffers(i)),
                "move",
            )

        self.loop_call(self.zero, self.length, 1, emit_time_step, "time")
        self.loop_call(
            self.zero, end, 1, lambda i: self.store_states(first + i, self.state_buffers(i)), "end"
        )

    def load_states(self, sequence: LLVMValue, buffers: StateBuffers) -> None:
        for i in range(self.num_states):
            self.copy_row(
                self.element_pointer(self.initial_states[i], sequence * self.strides[4 + i]), buffers.state[i]
            )

    def store_states(self, sequence: LLVMValue, buffers: StateBuffers) -> None:
        for i in range(self.num_states):
            self.copy_row(
                buffers.state[i], self.element_pointer(self.last_states[i], sequence * self.strides[6 + i])
            )

    def copy_row(self, source: str, target: str) -> None:
        def copy_vector(index: LLVMValue, _: int, mask: LLVMValue | None) -> None:
            self.store_vector(self.load_vector(source, index, mask), target, index, mask)

        self.loop_vectors(self.hidden, copy_vector, 1)

    # --- the recurrent product -----------------------------------------------------------------

    def multiply_state(self, first: LLVMValue, columns: LLVMValue, state: int, count: int) -> None:
        """gates[:, first : first + columns] = state * weights, for `count` sequences; state: index in their buffers."""

        def multiply_block(index: LLVMValue, vectors: int, mask: LLVMValue | None) -> None:
            self.multiply_columns(first + index, vectors, mask, self.unit_buffers[:count], state)

        self.loop_vectors(columns, multiply_block, max(self.max_accumulators // count, 1))

    def multiply_columns(
        self,
        column: LLVMValue,
        vectors: int,
        mask: LLVMValue | None,
        buffers: list[StateBuffers],
        state: int,
    ) -> None:
        """A register tile of the product: all sequences by `vectors` vectors of columns."""
        tile = [self.new_accumulators(0, vectors) for _ in buffers]

        def accumulate(k: LLVMValue) -> None:
            row = self.element_pointer(self.weights, k * self.gate_columns)
            weights = [self.load_vector(row, column + v * self.lanes, mask) for v in range(vectors)]
            for sequence, sums in zip(buffers, tile, strict=True):
                h = self.broadcast(
                    self.load(StackSlot(self.element_pointer(sequence.state[state], k), self.scalar_type))
                )
                for vector, slot in zip(weights, sums, strict=True):
                    self.store(slot, self.fma(h, vector, self.load(slot)))

        self.loop_call(self.zero, self.hidden, 1, accumulate, "k")
        for sequence, sums in zip(buffers, tile, strict=True):
            for v, slot in enumerate(sums):
                self.store_vector(self.load(slot), sequence.gates, column + v * self.lanes, mask)

    # --- cells ---------------------------------------------------------------------------------

    def reset_state(self, time: LLVMValue, sequence: LLVMValue, buffers: StateBuffers) -> None:
        """The reset state of a "reset_gru": r * h."""
        inputs = self.element_pointer(self.input_gates, time * self.strides[0] + sequence * self.strides[1])

        def reset_vector(index: LLVMValue, _: int, mask: LLVMValue | None) -> None:
            column = self.hidden + index
            r = self.load_vector(inputs, column, mask) + self.load_vector(buffers.gates, column, mask)
            reset = self.emit_operation("sigmoid", r) * self.load_vector(buffers.state[0], index, mask)
            self.store_vector(reset, buffers.state[1], index, mask)

        self.loop_vectors(self.hidden, reset_vector, 1)

    def update_state(self, time: LLVMValue, sequence: LLVMValue, buffers: StateBuffers) -> None:
        """The next state of a sequence, which is its output."""
        inputs = self.element_pointer(self.input_gates, time * self.strides[0] + sequence * self.strides[1])
        output = self.element_pointer(self.y, time * self.strides[2] + sequence * self.strides[3])
        cells = {"lstm": self.lstm, "gru": self.gru, "reset_gru": self.reset_gru, "rnn": self.rnn}
        cell = cells[self.cell]

        def update_vector(index: LLVMValue, _: int, mask: LLVMValue | None) -> None:
            gates = []
            for gate in range(GATE_COUNTS[self.cell]):
                column = self.hidden * gate + index
                gates.append(
                    (self.load_vector(inputs, column, mask), self.load_vector(buffers.gates, column, mask))
                )
            h = cell(gates, index, mask, buffers)
            for target in (buffers.state[0], output):
                self.store_vector(h, target, index, mask)

        self.loop_vectors(self.hidden, update_vector, 1)

    # Each cell returns a vector of the next h.  gates: the input part and the recurrent part of each gate.

    def lstm(
        self,
        gates: list[tuple[LLVMValue, LLVMValue]],
        index: LLVMValue,
        mask: LLVMValue | None,
        buffers: StateBuffers,
    ) -> LLVMValue:
        i, o, f, c = (a + b for a, b in gates)
        old_c = self.load_vector(buffers.state[1], index, mask)
        remembered = self.emit_operation("sigmoid", f) * old_c
        new_c = self.fma(self.emit_operation("sigmoid", i), self.emit_operation("tanh", c), remembered)
        self.store_vector(new_c, buffers.state[1], index, mask)
        return self.emit_operation("sigmoid", o) * self.emit_operation("tanh", new_c)

    def gru(
        self,
        gates: list[tuple[LLVMValue, LLVMValue]],
        index: LLVMValue,
        mask: LLVMValue | None,
        buffers: StateBuffers,
    ) -> LLVMValue:
        z, r = (self.emit_operation("sigmoid", a + b) for a, b in gates[:2])
        x_part, h_part = gates[2]
        biased = h_part + self.load_vector(self.hidden_bias, index, mask)
        h = self.emit_operation("tanh", self.fma(r, biased, x_part))
        return (1 - z) * h + z * self.load_vector(buffers.state[0], index, mask)

    def reset_gru(
        self,
        gates: list[tuple[LLVMValue, LLVMValue]],
        index: LLVMValue,
        mask: LLVMValue | None,
        buffers: StateBuffers,
    ) -> LLVMValue:
        z, _, h = (a + b for a, b in gates)
        z = self.emit_operation("sigmoid", z)
        return (1 - z) * self.emit_operation("tanh", h) + z * self.load_vector(buffers.state[0], index, mask)

    def rnn(
        self,
        gates: list[tuple[LLVMValue, LLVMValue]],
        index: LLVMValue,
        mask: LLVMValue | None,
        buffers: StateBuffers,
    ) -> LLVMValue:
        ((x_part, h_part),) = gates
        return self.emit_operation("tanh", x_part + h_part)

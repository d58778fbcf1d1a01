"""LSTM, GRU and RNN kernels: the recurrence over time.

In each time step, the recurrent part of the gates is the product of the previous state and the weights.  The part of the inputs is
computed before, by a GEMM over all time steps, or, in batches, here: it need not be written and read then.  Loop nest:

    for each unit of work, sequences of the batch in one direction:
        for each time step:
            for each tile of sequences and block of hidden units, k in hidden:
                gates [sequences, units] += h[sequence, k] * weights[k, units]  (and of the inputs)
            for each sequence: the cell's equations, SIMD lanes along hidden

Both directions are units of one step, so that two threads compute them at once.  `cells` has the equations.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Target
from sardonyx._src.compile.codegen.element_types import resize_integer
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.memory import load_vector_at, store_at
from sardonyx._src.compile.kernels.loops.rows import full_vector_type
from sardonyx._src.compile.kernels.loops.vectors import loop_vectors
from sardonyx._src.compile.kernels.recurrent.cells import CELLS, CellVector, emit_reset
from sardonyx._src.compile.kernels.recurrent.operands import RecurrentOperands, recurrence_arguments
from sardonyx._src.compile.kernels.recurrent.packed_weights import Factors, PackedProduct, strided_rows
from sardonyx._src.compile.kernels.recurrent.variant import RecurrenceVariant
from sardonyx._src.compile.kernels.tuning import RecurrenceTuning, tuning_for
from sardonyx._src.compile.program import Kernel, Step, element_bytes
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import ceil_div, dim_max


def recurrence_step(variant: RecurrenceVariant, operands: RecurrentOperands) -> Step:
    """The step for all time steps of a layer."""
    y = operands.y
    directions, length, batch, hidden = y.shape
    unit_sequences = dim_max(RecurrenceTuning.unit_sequences, ceil_div(batch, RecurrenceTuning.max_units))
    tensors, arguments = recurrence_arguments(variant, operands, unit_sequences)
    written = [
        "y",
        *(f"last_{state}" for state in variant.states),
        *(["status"] if variant.has_lengths else []),
    ]
    input_size = 0 if operands.x is None else operands.x.shape[3]
    return Step(
        Kernel(variant.key, partial(recurrence_module, variant=variant), variant.parameters),
        variant.parameters.pack(**arguments),
        directions * ceil_div(batch, unit_sequences),
        tuple(tensor for name, tensor in tensors.items() if name not in written),
        tuple(tensors[name] for name in written),
        flops=y.num_elements * variant.gates * (hidden + input_size) * 2,
        bytes_accessed=sum(tensor.nbytes for tensor in tensors.values()) + operands.weights.nbytes * length,
        scratch=unit_sequences
        * (variant.gates + 2)
        * (hidden + RecurrenceTuning.max_lanes)
        * element_bytes(y.dtype),
    )


def recurrence_module(name: str, target: Target, variant: RecurrenceVariant) -> str:
    b = KernelBuilder(target, variant.parameters)
    batch, unit_sequences = b.integers("batch", "unit_sequences")
    blocks = b.udiv(batch + unit_sequences - 1, unit_sequences)
    layer = load_layer(b, variant)
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        direction, block = b.udivmod(unit, blocks)
        first = block * unit_sequences
        count = b.min(batch - first, unit_sequences)
        compute_sequences(RecurrenceUnit(layer, direction, first, count))
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class Layer:
    """The arguments of the kernel; padded: the hidden size in whole vectors."""

    b: KernelBuilder
    variant: RecurrenceVariant
    vector_type: LLVMType
    tensors: dict[str, str]
    strides: dict[str, LLVMValue]
    length: LLVMValue
    hidden: LLVMValue
    padded: LLVMValue
    is_backward: LLVMValue


def load_layer(b: KernelBuilder, variant: RecurrenceVariant) -> Layer:
    tensors = {name: b.pointer(name) for name in variant.operand_strides}
    strides = {name: b.integer(name) for name in variant.parameters.names if name.endswith("_stride")}
    length, hidden, is_backward = b.integers("length", "hidden", "is_backward")
    vector_type = full_vector_type(b.target, variant.element)
    padded = b.udiv(hidden + (vector_type.lanes - 1), vector_type.lanes) * vector_type.lanes
    return Layer(b, variant, vector_type, tensors, strides, length, hidden, padded, is_backward)


@dataclass(frozen=True, slots=True)
class RecurrenceUnit:
    """Sequences of one direction, from `first` on.

    In scratch, each has its state h, c (of a "reset_gru": the reset state), and the recurrent part of the gates, all padded.
    """

    layer: Layer
    direction: LLVMValue
    first: LLVMValue
    count: LLVMValue

    @property
    def b(self) -> KernelBuilder:
        return self.layer.b

    @property
    def scratch_stride(self) -> LLVMValue:
        """The elements in scratch for a sequence."""
        return self.layer.padded * (self.layer.variant.gates + 2)

    def scratch(self, sequence: LLVMValue, block: int) -> str:
        """The address of h (block 0), c (1) or a gate (2, ...) of sequence number `sequence` of the unit."""
        offset = sequence * self.scratch_stride + self.layer.padded * block
        return self.b.gep(self.b.scratch, offset, self.layer.variant.element)

    def row(self, tensor: str, sequence: LLVMValue | None = None, time: LLVMValue | None = None) -> str:
        """The address of a row of an operand in this direction; sequence: its number in the unit."""
        strides, offset = (
            self.layer.strides,
            self.direction * self.layer.strides[f"{tensor}_direction_stride"],
        )
        if sequence is not None:
            offset = offset + (self.first + sequence) * strides[f"{tensor}_batch_stride"]
        if time is not None:
            offset = offset + time * strides[f"{tensor}_time_stride"]
        return self.b.gep(self.layer.tensors[tensor], offset, self.layer.variant.element)

    def sequence_length(self, sequence: LLVMValue) -> LLVMValue:
        """The length of a sequence; 0 for one that is out of range."""
        layer, b = self.layer, self.b
        if not layer.variant.has_lengths:
            return layer.length
        address = b.gep(layer.tensors["lengths"], self.first + sequence, "i32")
        length = resize_integer(b.load(MemoryLocation(address, LLVMType("i32"))), "i64")
        return b.select((length < 0) | (length > layer.length), 0, length)

    def position(self, time: LLVMValue, sequence: LLVMValue) -> LLVMValue:
        """Where a sequence is in time step number `time`: a backward direction begins at its end."""
        is_backward = (self.direction + self.layer.is_backward) > 0
        return self.b.select(is_backward, self.sequence_length(sequence) - 1 - time, time)


def compute_sequences(unit: RecurrenceUnit) -> None:
    """All time steps of the sequences of a unit."""
    b, layer, zero = unit.b, unit.layer, unit.b.constant(0, I64)
    states = layer.variant.states
    with b.loop(zero, unit.count) as i:
        for number, state in enumerate(states):
            copy_row(layer, unit.row(state, i), unit.scratch(i, number), pads=True)
    with b.loop(zero, longest_length(unit), name="time") as time:
        compute_time_step(unit, time)
    with b.loop(zero, unit.count) as i:
        for number, state in enumerate(states):
            copy_row(layer, unit.scratch(i, number), unit.row(f"last_{state}", i))
        if layer.variant.has_lengths:
            with b.loop(unit.sequence_length(i), layer.length) as time:
                clear_row(layer, unit.row("y", i, time))


def longest_length(unit: RecurrenceUnit) -> LLVMValue:
    """The number of time steps of the longest sequence; reports lengths that are out of range."""
    b, layer = unit.b, unit.layer
    if not layer.variant.has_lengths:
        return layer.length
    longest = b.new_slot("longest", I64)
    b.store(longest, b.constant(0, I64))
    with b.loop(b.constant(0, I64), unit.count) as i:
        address = b.gep(layer.tensors["lengths"], unit.first + i, "i32")
        length = resize_integer(b.load(MemoryLocation(address, LLVMType("i32"))), "i64")
        with b.if_then((length < 0) | (length > layer.length)):
            b.lines.append(f" atomicrmw max ptr {layer.tensors['status']}, i64 1 monotonic, align 8")
        length, so_far = unit.sequence_length(i), b.load(longest)
        b.store(longest, b.select(length > so_far, length, so_far))
    return b.load(longest)


def compute_time_step(unit: RecurrenceUnit, time: LLVMValue) -> None:
    """The recurrent products and the next state of each sequence that has not ended."""
    first_gate = 0
    for phase, gates in enumerate(unit.layer.variant.phases):
        if phase > 0:
            with loop_active(unit, time) as i:
                reset_state(unit, time, i)
        multiply_state(unit, time, phase, first_gate, gates)
        first_gate += gates
    with loop_active(unit, time) as i:
        update_state(unit, time, i)


@contextmanager
def loop_active(unit: RecurrenceUnit, time: LLVMValue) -> Iterator[LLVMValue]:
    """A loop over the sequences that have not ended."""
    b = unit.b
    with b.loop(b.constant(0, I64), unit.count, name="sequence") as i:
        if unit.layer.variant.has_lengths:
            with b.if_then(time < unit.sequence_length(i)):
                yield i
        else:
            yield i


def multiply_state(unit: RecurrenceUnit, time: LLVMValue, phase: int, first_gate: int, gates: int) -> None:
    """The products of the gates of a phase, with h or, in the second phase, the reset state.

    Every other time step reads the weights backward, so that it begins with those that are still in the cache.
    """
    b, layer, zero = unit.b, unit.layer, unit.b.constant(0, I64)
    terms = [] if not layer.variant.projects_inputs else [input_factors(unit, time, first_gate)]
    offset = layer.hidden * layer.padded * first_gate
    weights = b.gep(unit.row("weights"), offset, layer.variant.element)
    states = strided_rows(b, layer.vector_type, unit.scratch(zero, phase), unit.scratch_stride)
    PackedProduct(
        b,
        layer.vector_type,
        (*terms, Factors(weights, layer.hidden, states)),
        gates,
        b.udiv(layer.padded, layer.vector_type.lanes),
        unit.scratch(zero, 2 + first_gate),
        unit.scratch_stride,
        layer.padded,
        (time & 1).eq(1),
    ).emit_rows(unit.count)


def input_factors(unit: RecurrenceUnit, time: LLVMValue, first_gate: int) -> Factors:
    """The inputs of a time step, and their weights; a sequence that has ended has those of any time step."""
    b, layer = unit.b, unit.layer
    size = b.integer("input_size")
    weights = b.gep(unit.row("input_weights"), size * layer.padded * first_gate, layer.variant.element)

    def row(sequence: LLVMValue) -> str:
        position = unit.position(time, sequence)
        return unit.row("x", sequence, position.clamp_min(0) if layer.variant.has_lengths else position)

    return Factors(weights, size, row)


# --- the cell --------------------------------------------------------------------------------


def loop_units(unit: RecurrenceUnit, time: LLVMValue, sequence: LLVMValue) -> Iterator[CellVector]:
    """The bodies of loops over the hidden units of a sequence: over joined vectors, as many as are tuned, then single ones."""
    b, layer, lanes = unit.b, unit.layer, unit.layer.vector_type.lanes
    if layer.variant.projects_inputs:
        inputs = unit.row("bias")
    else:
        inputs = unit.row("input_gates", sequence, unit.position(time, sequence))
    h, c, recurrent = (unit.scratch(sequence, block) for block in range(3))
    rows = {name: unit.row(name) if name in layer.tensors else "" for name in ("hidden_bias", "peepholes")}

    def cell(index: LLVMValue, mask: LLVMValue | None, joined: int = 1) -> CellVector:
        return CellVector(
            b, layer.variant, LLVMType(layer.vector_type.element, joined * lanes), inputs,
            b.gep(recurrent, index, layer.variant.element), layer.hidden, layer.padded, h, c,
            rows["hidden_bias"], rows["peepholes"], index, mask,
        )  # fmt: skip

    first, count = b.constant(0, I64), tuning_for(b.target).recurrence.joined_lstm_vectors
    if count > 1 and lanes > 1 and layer.variant.cell == "lstm":
        with b.loop(first, layer.hidden, count * lanes, "units") as first:
            yield cell(first, None, count)
    for index, mask in loop_vectors(b, first, layer.hidden, lanes):
        yield cell(index, mask)


def reset_state(unit: RecurrenceUnit, time: LLVMValue, sequence: LLVMValue) -> None:
    for vector in loop_units(unit, time, sequence):
        vector.store_padded(emit_reset(vector), vector.c)


def update_state(unit: RecurrenceUnit, time: LLVMValue, sequence: LLVMValue) -> None:
    """The next state of a sequence, which is its output."""
    output = unit.row("y", sequence, unit.position(time, sequence))
    for vector in loop_units(unit, time, sequence):
        h = CELLS[unit.layer.variant.cell](vector)
        vector.store_padded(h, vector.h)
        store_at(unit.b, output, vector.index, h, vector.mask)


# --- rows ------------------------------------------------------------------------------------


def copy_row(layer: Layer, source: str, target: str, *, pads: bool = False) -> None:
    """Copies a row of hidden units; pads: whether the target is padded, with zeros."""
    b = layer.b
    for index, mask in loop_vectors(b, 0, layer.hidden, layer.vector_type.lanes):
        value = load_vector_at(b, source, index, layer.vector_type, mask)
        store_at(b, target, index, value, None if pads else mask)


def clear_row(layer: Layer, target: str) -> None:
    for index, mask in loop_vectors(layer.b, 0, layer.hidden, layer.vector_type.lanes):
        store_at(layer.b, target, index, layer.b.constant(0.0, layer.vector_type), mask)

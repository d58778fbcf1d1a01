"""A phase of a time step that is divided among threads: units of work are groups of hidden units of all sequences.

Only states, and what a phase leaves to the next, are shared; the sums of a cell with a single phase stay in scratch.  An ended
sequence keeps its state, and its output of a time step is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.memory import load_vector_at, store_at
from sardonyx._src.compile.kernels.loops.vectors import loop_vectors
from sardonyx._src.compile.kernels.recurrent.cells import CELLS, CellVector, emit_reset
from sardonyx._src.compile.kernels.recurrent.operands import RecurrentOperands, recurrence_arguments
from sardonyx._src.compile.kernels.recurrent.packed_weights import Factors, PackedProduct, strided_rows
from sardonyx._src.compile.kernels.recurrent.recurrence import (
    Layer,
    RecurrenceUnit,
    load_layer,
    longest_length,
    loop_active,
)
from sardonyx._src.compile.kernels.recurrent.variant import RecurrenceVariant
from sardonyx._src.compile.kernels.tuning import RecurrenceTuning
from sardonyx._src.compile.program import Kernel, Step, TensorView, element_bytes
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.compile.program.operands.views import slice_axis
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import ceil_div

TIME_STEP = Parameters("time", "next_h_distance")
PHASE_TENSORS = Parameters("reset", "sums")
GROUP = RecurrenceTuning.group_blocks


@dataclass(frozen=True, slots=True)
class TimeStepTensors:
    """What time steps share.

    time: the number of the time step.  h: [2, directions, batch, padded], the states before and after a time step, in turn.
    states: by name, [directions, batch, padded]; h: the first of the two.  reset: of a cell with two phases, r * h
    [directions, batch, padded]; sums: the recurrent part of its gates [directions, batch, gates, padded].
    """

    time: TensorView
    h: TensorView
    states: Mapping[str, TensorView]
    reset: TensorView | None = None
    sums: TensorView | None = None

    @classmethod
    def allocate(
        cls, variant: RecurrenceVariant, operands: RecurrentOperands, lanes: int, name: str
    ) -> TimeStepTensors:
        directions, _, batch, hidden = operands.y.shape
        padded, dtype = ceil_div(hidden, lanes) * lanes, operands.y.dtype
        time = dense_temporary(DataType.INT64, (1,), f"{name}.time")
        h = dense_temporary(dtype, (2, directions, batch, padded), f"{name}.h")
        states = {"h": slice_axis(h, 0, 0, 1).reshape((directions, batch, padded))}
        if operands.c is not None:
            states["c"] = dense_temporary(dtype, (directions, batch, padded), f"{name}.c")
        if len(variant.phases) == 1:
            return cls(time, h, states)
        reset = dense_temporary(dtype, (directions, batch, padded), f"{name}.reset")
        sums = dense_temporary(dtype, (directions, batch, variant.gates, padded), f"{name}.sums")
        return cls(time, h, states, reset, sums)


def time_step(
    variant: RecurrenceVariant, operands: RecurrentOperands, shared: TimeStepTensors, lanes: int, phase: int
) -> Step:
    """A phase of a time step; operands: with the states of the loop in place of the initial ones."""
    directions, _, batch, hidden = operands.y.shape
    gates, size = variant.phases[phase], element_bytes(operands.y.dtype)
    tensors, arguments = recurrence_arguments(variant, operands, batch)
    arguments |= {"time": shared.time, "next_h_distance": shared.h.strides[0]}
    written = [name for name in tensors if name in ("y", "status") or name.startswith("last_")]
    states = [shared.h, *(tensors[state] for state in variant.states[1:])]
    if shared.reset is not None and shared.sums is not None:
        arguments |= {"reset": shared.reset, "sums": shared.sums}
        states += [shared.reset, shared.sums]
    inputs = [tensors[name] for name in tensors if name not in (*written, *variant.states)]
    parameters = time_step_parameters(variant)
    key = "_".join(("time_step", *([str(phase)] if shared.reset else []), variant.key))
    return Step(
        Kernel(key, partial(time_step_module, variant=variant, phase=phase), parameters),
        parameters.pack(**arguments),
        directions * ceil_div(ceil_div(hidden, lanes), GROUP),
        (*inputs, *states, shared.time),
        (*(tensors[name] for name in written), *states),
        flops=directions * batch * hidden * hidden * gates * 2,
        bytes_accessed=directions * hidden * (hidden * gates + batch * (gates + 4)) * size,
        scratch=batch * gates * GROUP * lanes * size,
    )


def time_step_parameters(variant: RecurrenceVariant) -> Parameters:
    """next_h_distance: elements from the first of the two states h to the second."""
    return variant.parameters + TIME_STEP + (PHASE_TENSORS if len(variant.phases) > 1 else Parameters())


# --- the kernel ------------------------------------------------------------------------------


def time_step_module(name: str, target: Target, variant: RecurrenceVariant, phase: int) -> str:
    """Every other time step visits the groups of a call backward, so that it begins with weights that are still in the cache."""
    b = KernelBuilder(target, time_step_parameters(variant))
    layer, zero = load_layer(b, variant), b.constant(0, I64)
    time = b.load(MemoryLocation(b.pointer("time"), I64))
    blocks = b.udiv(layer.padded, layer.vector_type.lanes)
    groups = b.udiv(blocks + (GROUP - 1), GROUP)
    is_odd = (time & 1).eq(1)
    longest = longest_length(RecurrenceUnit(layer, zero, zero, b.integer("batch")))
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        mirrored = b.first_unit + b.end_unit - 1 - unit
        direction, group = b.udivmod(b.select(is_odd, mirrored, unit), groups)
        sequences = RecurrenceUnit(layer, direction, zero, b.integer("batch"))
        first = group * GROUP
        count = b.min(blocks - first, GROUP)
        compute_phase(UnitGroup(sequences, time, phase, first, count), longest)
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class UnitGroup:
    """A phase of a time step of all sequences in one direction, for `count` vectors of hidden units from vector `first` on."""

    sequences: RecurrenceUnit
    time: LLVMValue
    phase: int
    first: LLVMValue
    count: LLVMValue

    @property
    def b(self) -> KernelBuilder:
        return self.sequences.b

    @property
    def layer(self) -> Layer:
        return self.sequences.layer

    @property
    def is_single(self) -> bool:
        return len(self.layer.variant.phases) == 1

    @property
    def first_unit(self) -> LLVMValue:
        return self.first * self.layer.vector_type.lanes


def compute_phase(group: UnitGroup, longest: LLVMValue) -> None:
    """The products of the phase, and the states or the reset states; longest: the time steps of the longest sequence."""
    b, variant, zero = group.b, group.layer.variant, group.b.constant(0, I64)
    is_last = group.phase == len(variant.phases) - 1
    with b.if_then(group.time < longest):
        multiply_state(group)
    with loop_active(group.sequences, group.time) as i:
        for vector in loop_units(group, i):
            update_state(group, vector, i) if is_last else vector.store_padded(emit_reset(vector), vector.c)
    if is_last and variant.has_lengths:
        with (
            b.loop(zero, group.sequences.count, name="ended") as i,
            b.if_then(group.time >= group.sequences.sequence_length(i)),
        ):
            clear_output(group, i)


# --- addresses -------------------------------------------------------------------------------


def h_row(group: UnitGroup, sequence: LLVMValue, number: LLVMValue) -> str:
    """The address of a sequence's h, in the first of the two states for an even number, otherwise in the second."""
    offset = (number & 1) * group.b.integer("next_h_distance")
    return group.b.gep(group.sequences.row("h", sequence), offset, group.layer.variant.element)


def shared_row(group: UnitGroup, tensor: str, sequence: LLVMValue, rows: int) -> str:
    """The address of the rows of a sequence in a tensor [directions, batch, rows, padded]."""
    strides = group.layer.strides
    row = group.sequences.direction * strides["h_direction_stride"] + sequence * strides["h_batch_stride"]
    return group.b.gep(group.b.pointer(tensor), row * rows, group.layer.variant.element)


def state_row(group: UnitGroup, sequence: LLVMValue) -> str:
    """The address of the state that the phase multiplies."""
    return h_row(group, sequence, group.time) if group.phase == 0 else shared_row(group, "reset", sequence, 1)


def gate_stride(group: UnitGroup) -> LLVMValue:
    layer = group.layer
    return group.b.constant(GROUP * layer.vector_type.lanes, I64) if group.is_single else layer.padded


def sums_row(group: UnitGroup, sequence: LLVMValue) -> str:
    """The address of the sums of the first of these units, and the first of all gates."""
    gates, element = group.layer.variant.gates, group.layer.variant.element
    if group.is_single:
        return group.b.gep(group.b.scratch, sequence * (gate_stride(group) * gates), element)
    return group.b.gep(shared_row(group, "sums", sequence, gates), group.first_unit, element)


# --- code ------------------------------------------------------------------------------------


def multiply_state(group: UnitGroup) -> None:
    b, layer, variant, zero = group.b, group.layer, group.layer.variant, group.b.constant(0, I64)
    gates, first_gate = variant.phases[group.phase], sum(variant.phases[: group.phase])
    offset = layer.hidden * (layer.padded * first_gate + group.first_unit * gates)
    weights = b.gep(group.sequences.row("weights"), offset, variant.element)
    rows = strided_rows(b, layer.vector_type, state_row(group, zero), layer.strides["h_batch_stride"])
    sums = b.gep(sums_row(group, zero), gate_stride(group) * first_gate, variant.element)
    PackedProduct(
        b, layer.vector_type, (Factors(weights, layer.hidden, rows),), gates, group.count, sums,
        gate_stride(group) * variant.gates, gate_stride(group),
    ).emit_rows(group.sequences.count)  # fmt: skip


def loop_masks(group: UnitGroup) -> Iterator[tuple[LLVMValue, LLVMValue | None]]:
    """The body of a loop over these vectors: the index of each unit from the first on, and the mask of those that exist."""
    b, lanes = group.b, group.layer.vector_type.lanes
    units = b.min(group.layer.hidden - group.first_unit, group.count * lanes)
    yield from loop_vectors(b, 0, units, lanes)


def loop_units(group: UnitGroup, sequence: LLVMValue) -> Iterator[CellVector]:
    """The body of a loop over the vectors of a sequence."""
    b, layer, unit = group.b, group.layer, group.sequences
    inputs = unit.row("input_gates", sequence, unit.position(group.time, sequence))
    h, sums = h_row(group, sequence, group.time), sums_row(group, sequence)
    c = "" if group.is_single else shared_row(group, "reset", sequence, 1)
    rows = {name: unit.row(name) if name in layer.tensors else "" for name in ("hidden_bias", "peepholes")}
    for index, mask in loop_masks(group):
        yield CellVector(
            b, layer.variant, layer.vector_type, inputs, b.gep(sums, index, layer.variant.element),
            layer.hidden, gate_stride(group), h, unit.row("c", sequence) if "c" in layer.tensors else c,
            rows["hidden_bias"], rows["peepholes"], group.first_unit + index, mask,
        )  # fmt: skip


def update_state(group: UnitGroup, vector: CellVector, sequence: LLVMValue) -> None:
    """The next states of a vector, and its output."""
    b, unit, layer = group.b, group.sequences, group.layer
    h = CELLS[layer.variant.cell](vector)
    vector.store_padded(h, h_row(group, sequence, group.time + 1))
    output = unit.row("y", sequence, unit.position(group.time, sequence))
    for target in (output, unit.row("last_h", sequence)):
        store_at(b, target, vector.index, h, vector.mask)
    if "c" in layer.tensors:
        c = load_vector_at(b, vector.c, vector.index, layer.vector_type)
        store_at(b, unit.row("last_c", sequence), vector.index, c, vector.mask)


def clear_output(group: UnitGroup, sequence: LLVMValue) -> None:
    """The output of a time step of a sequence that has ended."""
    target = group.sequences.row("y", sequence, group.time)
    zeros = group.b.constant(0.0, group.layer.vector_type)
    for index, mask in loop_masks(group):
        store_at(group.b, target, group.first_unit + index, zeros, mask)

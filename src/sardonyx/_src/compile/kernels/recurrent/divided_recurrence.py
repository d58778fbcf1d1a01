"""LSTM, GRU and RNN whose time steps are divided among threads: each computes some of the hidden units of all sequences.

Recurrent weights that exceed a core's cache are read from a slower one in every time step; if each thread reads a part of them, its
part stays in its own cache.  A time step needs the states of all hidden units, so it is a step of the program, in a loop of
the executor: threads meet at its end, as they do after any step, however many of them take part.

    start: time = 0; past the loop if there are no time steps
    time step, units of work are groups of hidden units:
        gates [sequences, units] = h[sequence, k] * weights[k, units];  the cell's equations
    next: time += 1; back to the time step unless it was the last one

The sums are those of `recurrence`, in the same order, so results have the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.parameters import Parameters
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.recurrent.cells import CELLS, CellVector
from sardonyx._src.compile.kernels.recurrent.operands import RecurrentOperands, recurrence_arguments
from sardonyx._src.compile.kernels.recurrent.packed_weights import Factors, PackedProduct, strided_rows
from sardonyx._src.compile.kernels.recurrent.recurrence import (
    Layer,
    RecurrenceUnit,
    load_layer,
)
from sardonyx._src.compile.kernels.recurrent.variant import RecurrenceVariant
from sardonyx._src.compile.kernels.reductions.rows import (
    full_vector_type,
    load_vector,
    loop_single_vectors,
    store_vector,
)
from sardonyx._src.compile.kernels.tuning import RecurrenceTuning
from sardonyx._src.compile.program.step import Jump, Kernel, KernelArgument, Step
from sardonyx._src.compile.program.tensor import TensorView, dense_temporary, element_bytes
from sardonyx._src.compile.program.views import slice_axis
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div

TIME_STEP = Parameters("time", "next_h_distance")
TIME_LOOP = Parameters("time", "flag", "length", "is_start")
GROUP = RecurrenceTuning.group_blocks


def is_divided(variant: RecurrenceVariant, operands: RecurrentOperands) -> bool:
    """Whether the time steps of a layer are divided.

    Never those of sequences with lengths of their own, nor of cells whose products need two phases.
    """
    directions, _, batch, _ = operands.y.shape
    units = directions * ceil_div(batch, RecurrenceTuning.unit_sequences)
    limit = RecurrenceTuning.min_divided_bytes if units == 1 else RecurrenceTuning.cached_bytes
    size = operands.weights.shape[1]
    assert isinstance(size, int), f"number of weights must be known; got {size}"
    is_large = size * element_bytes(operands.weights.dtype) >= limit
    return is_large and len(variant.phases) == 1 and not variant.has_lengths


def divided_recurrence_steps(
    variant: RecurrenceVariant, operands: RecurrentOperands, target: Target, name: str
) -> Iterator[Step]:
    """The steps of a layer for which `is_divided`; name: of the layer, for temporaries."""
    directions, length, batch, hidden = operands.y.shape
    lanes = full_vector_type(target, variant.element).lanes
    padded = ceil_div(hidden, lanes) * lanes
    dtype = operands.y.dtype
    h = dense_temporary(dtype, (2, directions, batch, padded), f"{name}.h")
    states = {"h": slice_axis(h, 0, 0, 1).reshape((directions, batch, padded))}
    if operands.c is not None:
        states["c"] = dense_temporary(dtype, (directions, batch, padded), f"{name}.c")
    for state, tensor in states.items():
        first, last = getattr(operands, state), getattr(operands, f"last_{state}")
        yield copy_step(first, slice_axis(tensor, 2, 0, hidden))
        if not isinstance(length, int) or length == 0:
            yield copy_step(first, last)
    time = dense_temporary(DataType.INT64, (1,), f"{name}.time")
    flag = dense_temporary(DataType.INT64, (1,), f"{name}.again")
    running = replace(operands, h=states["h"], c=states.get("c"))
    step = time_step(variant, running, h, time, lanes)
    yield time_loop_step(time, flag, length, 3, step.writes)
    yield step
    yield time_loop_step(time, flag, length, -1)


# --- the loop --------------------------------------------------------------------------------


def time_loop_step(
    time: TensorView, flag: TensorView, length: Known, distance: int, written: tuple[TensorView, ...] = ()
) -> Step:
    """The step before the first time step (distance > 0: past the loop), or after each one (back to it).

    written: tensors that each time step writes a part of, which are therefore live from the start on.
    """
    args: tuple[KernelArgument, ...] = TIME_LOOP.pack(
        time=time, flag=flag, length=length, is_start=int(distance > 0)
    )
    reads = () if distance > 0 else (time,)
    return Step(TIME_LOOP_KERNEL, args, 1, reads, (time, flag, *written), jump=Jump(flag, distance))


def time_loop_module(name: str, target: Target) -> str:
    """Counts a time step, and sets the flag of the jump."""
    b = KernelBuilder(target, TIME_LOOP)
    time, flag = (StackSlot(address, I64) for address in b.pointers("time", "flag"))
    is_start = b.integer("is_start").ne(0)
    position = b.select(is_start, -1, b.load(time)) + 1
    b.store(time, position)
    b.store(flag, ((position < b.integer("length")) ^ is_start).convert("zext", "i64"))
    return b.build_module(name)


TIME_LOOP_KERNEL = Kernel("recurrence_time", time_loop_module, TIME_LOOP)


# --- a time step -----------------------------------------------------------------------------


def time_step(
    variant: RecurrenceVariant, operands: RecurrentOperands, h: TensorView, time: TensorView, lanes: int
) -> Step:
    """The next states of a layer.

    operands: with the states of the layer in place of the initial ones; h: [2, directions, batch, padded], the states before and
    after, in turn.
    """
    y = operands.y
    directions, _, batch, hidden = y.shape
    tensors, arguments = recurrence_arguments(variant, operands, batch)
    arguments |= {"time": time, "next_h_distance": h.strides[0]}
    args: tuple[KernelArgument, ...] = time_step_parameters(variant).pack(**arguments)
    written = ("y", *(f"last_{state}" for state in variant.states))
    states = (h, *(tensors[state] for state in variant.states[1:]))
    weights, size = operands.weights, element_bytes(y.dtype)
    read = tuple(tensor for name, tensor in tensors.items() if name not in (*written, *variant.states))
    return Step(
        Kernel(
            f"time_step_{variant.key}",
            partial(time_step_module, variant=variant),
            time_step_parameters(variant),
        ),
        args,
        directions * ceil_div(ceil_div(hidden, lanes), GROUP),
        (*read, *states, time),
        (*(tensors[name] for name in written), *states),
        flops=directions * batch * hidden * hidden * variant.gates * 2,
        bytes_accessed=weights.nbytes + directions * batch * hidden * (variant.gates + 4) * size,
        scratch=batch * variant.gates * GROUP * lanes * size,
    )


def time_step_parameters(variant: RecurrenceVariant) -> Parameters:
    """next_h_distance: elements from the first of the two states h to the second."""
    return variant.parameters + TIME_STEP


def time_step_module(name: str, target: Target, variant: RecurrenceVariant) -> str:
    """Every other time step visits the groups of a call backward, so that it begins with weights that are still in the cache."""
    b = KernelBuilder(target, time_step_parameters(variant))
    layer, zero = load_layer(b, variant), b.constant(0, I64)
    time = b.load(StackSlot(b.pointer("time"), I64))
    blocks = b.udiv(layer.padded, layer.vector_type.lanes)
    groups = b.udiv(blocks + (GROUP - 1), GROUP)
    is_odd = (time & 1).eq(1)
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        mirrored = b.first_unit + b.end_unit - 1 - unit
        direction, group = b.udivmod(b.select(is_odd, mirrored, unit), groups)
        sequences = RecurrenceUnit(layer, direction, zero, b.integer("batch"))
        compute_group(layer, sequences, time, group * GROUP, b.min(blocks - group * GROUP, GROUP))
    return b.build_module(name)


def compute_group(
    layer: Layer, sequences: RecurrenceUnit, time: LLVMValue, first: LLVMValue, count: LLVMValue
) -> None:
    """The next states of `count` vectors of hidden units from vector number `first` on."""
    b, variant, lanes = layer.b, layer.variant, layer.vector_type.lanes
    element, gate_stride = variant.element, b.constant(GROUP * lanes, I64)
    row_size = gate_stride * variant.gates
    weights = b.gep(sequences.row("weights"), first * layer.hidden * (variant.gates * lanes), element)
    h = h_row(sequences, b.constant(0, I64), time)
    rows = strided_rows(b, layer.vector_type, h, layer.strides["h_batch_stride"])
    factors = Factors(weights, layer.hidden, rows)
    PackedProduct(
        b, layer.vector_type, (factors,), variant.gates, count, b.scratch, row_size, gate_stride
    ).emit_rows(sequences.count)
    units = b.min(layer.hidden - first * lanes, count * lanes)
    with b.loop(b.constant(0, I64), sequences.count, name="sequence") as i:
        recurrent = b.gep(b.scratch, i * row_size, element)
        for index, mask in loop_single_vectors(b, units, lanes):
            update_vector(layer, sequences, time, i, recurrent, gate_stride, first * lanes, index, mask)


def h_row(sequences: RecurrenceUnit, sequence: LLVMValue, number: LLVMValue) -> str:
    """The address of a sequence's h, in the first of the two states for an even number, otherwise in the second."""
    b = sequences.b
    offset = (number & 1) * b.integer("next_h_distance")
    return b.gep(sequences.row("h", sequence), offset, sequences.layer.variant.element)


def update_vector(
    layer: Layer,
    sequences: RecurrenceUnit,
    time: LLVMValue,
    sequence: LLVMValue,
    recurrent: str,
    gate_stride: LLVMValue,
    first: LLVMValue,
    index: LLVMValue,
    mask: LLVMValue | None,
) -> None:
    """The next states of the vector of hidden units at first + index; recurrent: the gates of the units from `first` on."""
    b, variant = layer.b, layer.variant
    rows = {
        name: sequences.row(name) if name in layer.tensors else "" for name in ("hidden_bias", "peepholes")
    }
    position = sequences.position(time, sequence)
    vector = CellVector(
        b, variant, layer.vector_type, sequences.row("input_gates", sequence, position),
        b.gep(recurrent, index, variant.element), layer.hidden, gate_stride, h_row(sequences, sequence, time),
        sequences.row("c", sequence) if "c" in layer.tensors else "", rows["hidden_bias"], rows["peepholes"],
        first + index, mask,
    )  # fmt: skip
    h = CELLS[variant.cell](vector)
    vector.store_padded(h, h_row(sequences, sequence, time + 1))
    for target in (sequences.row("y", sequence, position), sequences.row("last_h", sequence)):
        store_vector(b, h, target, vector.index, mask)
    if "c" in layer.tensors:
        c = load_vector(b, layer.vector_type, vector.c, vector.index, None)
        store_vector(b, c, sequences.row("last_c", sequence), vector.index, mask)

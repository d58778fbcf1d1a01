"""LSTM, GRU and RNN whose time steps are divided among threads: each computes some of the hidden units of all sequences.

Recurrent weights that exceed a core's cache are read from a slower one in every time step; if each thread reads a part of them, its
part stays in its own cache.  A time step needs the states of all hidden units, so each of its products is a step of the program, in
a loop of the executor: threads meet at its end, as they do after any step, however many of them take part.

    start: time = 0; past the loop if there are no time steps
    for each phase of a time step (`time_step`; of a "reset_gru" there are two):
        gates [sequences, units] = state[sequence, k] * weights[k, units];  the cell's equations
    next: time += 1; back to the first phase unless it was the last time step

The sums are those of `recurrence`, in the same order, so results have the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sardonyx._src.compile.codegen import I64, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.loops.rows import full_vector_type
from sardonyx._src.compile.kernels.recurrent.operands import RecurrentOperands
from sardonyx._src.compile.kernels.recurrent.time_step import TimeStepTensors, time_step
from sardonyx._src.compile.kernels.recurrent.variant import RecurrenceVariant
from sardonyx._src.compile.kernels.tuning import RecurrenceTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView, element_bytes
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.compile.program.operands.views import slice_axis
from sardonyx._src.compile.program.steps.step import Jump
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div

TIME_LOOP = Parameters("time", "flag", "length", "is_start")


def is_divided(operands: RecurrentOperands) -> bool:
    """Whether the time steps of a layer are divided."""
    directions, _, batch, _ = operands.y.shape
    units = directions * ceil_div(batch, RecurrenceTuning.unit_sequences)
    limit = RecurrenceTuning.min_divided_bytes if units == 1 else RecurrenceTuning.cached_bytes
    size = operands.weights.shape[1]
    assert isinstance(size, int), f"number of weights must be known; got {size}"
    return size * element_bytes(operands.weights.dtype) >= limit


def divided_recurrence_steps(
    variant: RecurrenceVariant, operands: RecurrentOperands, target: Target, name: str
) -> Iterator[Step]:
    """The steps of a layer for which `is_divided`; name: of the layer, for temporaries."""
    length, hidden = operands.y.shape[1], operands.y.shape[3]
    lanes = full_vector_type(target, variant.element).lanes
    tensors = TimeStepTensors.allocate(variant, operands, lanes, name)
    for state, tensor in tensors.states.items():
        first, last = getattr(operands, state), getattr(operands, f"last_{state}")
        yield copy_step(first, slice_axis(tensor, 2, 0, hidden))
        if not isinstance(length, int) or length == 0 or variant.has_lengths:
            yield copy_step(first, last)
    flag = dense_temporary(DataType.INT64, (1,), f"{name}.again")
    running = replace(operands, h=tensors.states["h"], c=tensors.states.get("c"))
    steps = [time_step(variant, running, tensors, lanes, phase) for phase in range(len(variant.phases))]
    written = tuple(tensor for step in steps for tensor in step.writes)
    yield time_loop_step(tensors.time, flag, length, len(steps) + 2, written)
    yield from steps
    yield time_loop_step(tensors.time, flag, length, -len(steps))


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
    time, flag = (MemoryLocation(address, I64) for address in b.pointers("time", "flag"))
    is_start = b.integer("is_start").ne(0)
    position = b.select(is_start, -1, b.load(time)) + 1
    b.store(time, position)
    b.store(flag, ((position < b.integer("length")) ^ is_start).convert("zext", "i64"))
    return b.build_module(name)


TIME_LOOP_KERNEL = Kernel("recurrence_time", time_loop_module, TIME_LOOP)

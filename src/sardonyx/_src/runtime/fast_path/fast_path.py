"""Fast path: a run with the element types and shapes of an earlier run goes straight into native code.

The checks of feeds and outputs depend only on their names, types and shapes.  After two validated runs with the same names,
types and shapes, a context builds the *frame* of the native function `enter` (`compile.executor.fast_entry`).  `enter`
compares the feeds with the frame, patches their addresses into the slots of the program, and runs its encoded steps, the
tape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from sardonyx._src.compile.executor import entry_layout
from sardonyx._src.compile.executor.pool_layout import (
    ASSUMED_ITERATIONS,
    RECORD_SLOTS,
    WAKE_THRESHOLD,
    WEIGHT,
)
from sardonyx._src.compile.program.encoding.port_dims import port_dims
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Value
from sardonyx._src.runtime.fast_path.fallback_calls import FallbackCalls, has_direct_calls
from sardonyx._src.runtime.fast_path.recorded_run import RecordedRun, python_inputs
from sardonyx._src.runtime.limits.thread_pool import SCHEDULING_DEFAULTS, tape_runner
from sardonyx._src.runtime.programs.arrays import SLOT_BYTES, get_fast_entry, python_address
from sardonyx._src.runtime.programs.context_memory import ContextMemory
from sardonyx._src.runtime.programs.loaded_program import LoadedProgram

OutputShape: TypeAlias = tuple[tuple[int, ...], np.dtype[np.generic]]  # shape and element type
STRINGS = np.dtype(object)
MIN_GIL_RELEASE = 5_000  # nominal nanoseconds of a tape from which releasing Python's lock is worth its cost


@dataclass(frozen=True, slots=True)
class FastPath:
    """The native entry of a program for certain input sizes.

    enter: a function of the feeds that kernels read, then a new array for each of `outputs`, then the fed strings.
    inputs: the names of the feeds that kernels read.
    outputs: the shape and element type of each output that kernels write.
    calls: the actions that Python performs between native steps; None if there are none.
    """

    enter: Callable[..., int]
    inputs: tuple[str, ...]
    outputs: tuple[OutputShape, ...]
    calls: FallbackCalls | None = None

    def new_outputs(self) -> list[Array]:
        """New arrays for `outputs`."""
        return [np.empty(shape, dtype) for shape, dtype in self.outputs]


def has_fast_path(native: LoadedProgram) -> bool:
    """Whether repeated runs can use the fast path.

    Each output must be written to an array of the caller by kernel steps, or computed by a fallback operation; the kernels
    of fallback operations must need only their inputs and attributes.  Fed counts are no shapes, so a program with counts has
    a fast path for all sizes, which reads them, or none.
    """
    outputs = native.program.outputs.values()
    return (
        (not native.program.counts or port_dims(native.program) is not None)
        and all(tensor is None or tensor.buffer.role == "output" for tensor in outputs)
        and get_fast_entry() is not None
        and has_direct_calls(native)
    )


def runs_natively(program: Program) -> bool:
    """Whether a program consists of kernel steps only."""
    is_native = all(tensor is not None for tensor in program.outputs.values())
    return is_native and len(program.steps) == len(program.actions) and not python_inputs(program)


def build_fast_path(memory: ContextMemory, recorded: RecordedRun) -> FastPath:
    """The fast path for the input sizes that the context is specialized for."""
    entry = get_fast_entry()
    assert entry is not None, "the layout of arrays is unknown"
    program = memory.native.program
    tensors = program.outputs.values()
    inputs = tuple(value.name for value in native_inputs(program))
    outputs = [(memory.shape(tensor), tensor.dtype.numpy) for tensor in tensors if tensor is not None]
    calls = FallbackCalls(memory, recorded) if memory.native.calls_fallback_ops else None
    enter = entry.function(np.array(build_frame(memory, recorded), np.int64))
    return FastPath(enter, inputs, tuple(outputs), calls)


def native_inputs(program: Program) -> list[Value]:
    """The inputs that kernel steps read, in the model's order."""
    return [value for value in program.model.graph.inputs if value in program.inputs]


def build_frame(memory: ContextMemory, recorded: RecordedRun) -> list[int]:
    """The frame of `enter`: counts, addresses, then a check for each feed and the pointer patches."""
    native = memory.native
    program, records = native.program, len(native.program.actions)
    nanoseconds = nominal_duration(memory)
    runs_alone = native.pool.threads == 1 or nanoseconds < SCHEDULING_DEFAULTS[WAKE_THRESHOLD]
    checks, patches = feed_checks(memory), pointer_patches(memory)
    frame = [0] * entry_layout.FRAME_BODY
    results = [tensor for tensor in program.outputs.values() if tensor is not None]
    strings = python_inputs(program)
    frame[entry_layout.ARRAY_COUNT] = len(program.inputs) + len(results) + len(strings)
    frame[entry_layout.STRING_COUNT], frame[entry_layout.STRING_TYPE] = len(strings), id(str)
    frame[entry_layout.FEED_COUNT], frame[entry_layout.RELOCATION_COUNT] = (
        len(program.inputs),
        len(patches) // 3,
    )
    frame[entry_layout.ARRAY_TYPE] = id(np.ndarray)
    frame[entry_layout.RUN_FUNCTION] = tape_runner().library.addresses["run"] if runs_alone else 0
    frame[entry_layout.TAPE], frame[entry_layout.RECORDS] = memory.slots.ctypes.data, records
    frame[entry_layout.SCRATCH], frame[entry_layout.STRIDE] = memory.scratch.address, memory.scratch.stride
    frame[entry_layout.STATUS] = memory.status.ctypes.data
    if nanoseconds > MIN_GIL_RELEASE:
        frame[entry_layout.RELEASE_GIL] = python_address("PyEval_SaveThread")
        frame[entry_layout.ACQUIRE_GIL] = python_address("PyEval_RestoreThread")
    frame[entry_layout.MAKE_NUMBER] = python_address("PyLong_FromSsize_t")
    return frame + checks + string_checks(recorded, strings) + patches


def nominal_duration(memory: ContextMemory) -> int:
    """The nominal nanoseconds of the tape.  A tape with loops counts as long, since its iterations are unknown."""
    records = len(memory.native.program.actions)
    weight = int(memory.values[WEIGHT : records * RECORD_SLOTS : RECORD_SLOTS].sum())
    return weight * ASSUMED_ITERATIONS + MIN_GIL_RELEASE + 1 if memory.native.has_loops else weight


def feed_checks(memory: ContextMemory) -> list[int]:
    """The expected properties of each feed that kernels read: address of its element type, rank, dims."""
    checks = []
    for value in native_inputs(memory.native.program):
        tensor = memory.native.program.inputs[value]
        shape = memory.shape(tensor)
        checks += [id(tensor.dtype.numpy), len(shape), *shape]
    return checks


def string_checks(recorded: RecordedRun, values: Sequence[Value]) -> list[int]:
    """The expected properties of each feed of strings: address of its element type, rank, dims, number of elements.

    The rank of a feed that is no array of strings is -1, which no array has, so that it never matches.
    """
    checks = []
    for value in values:
        shape = recorded.shapes[value]
        dims = [n for n in shape or () if isinstance(n, int)]
        count = -1 if shape is None or len(dims) < len(shape) else math.prod(dims)
        checks += [id(STRINGS), len(dims) if count >= 0 else -1, *dims, max(count, 0)]
    return checks


def pointer_patches(memory: ContextMemory) -> list[int]:
    """For each slot that points into a caller's array: number of the array, address of the slot, byte offset."""
    program, relocations = memory.native.program, memory.native.relocations
    inputs = [program.inputs[value] for value in native_inputs(program)]
    tensors = [*inputs, *(tensor for tensor in program.outputs.values() if tensor is not None)]
    start = memory.slots.ctypes.data
    patches: list[int] = []
    for number, tensor in enumerate(tensors):
        for slot in relocations.get(tensor.buffer, np.empty(0, np.int64)).tolist():
            patches += [number, start + slot * SLOT_BYTES, int(memory.values[slot])]
    return patches

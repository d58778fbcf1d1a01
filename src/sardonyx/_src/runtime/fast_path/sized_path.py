"""Fast path for feeds of any sizes: native code computes the slots for new lengths (`compile.executor.sized_entry`).

A run with new lengths needs no checks in Python if the program consists of kernel steps, and it is known which equations
of lengths make the model's declarations hold (`declarations/declared_equations.py`).  Native code checks these and the dims
of the feeds, calls the size function of the program, and refuses sizes that violate a guard or a limit, or for which arena
or scratch have no room.  A run with all checks then allocates more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np

from sardonyx._src.compile.executor import entry_layout
from sardonyx._src.compile.executor.entry_layout import READY, RESIZED
from sardonyx._src.compile.executor.pool_layout import ASSUMED_ITERATIONS, NEVER_PARALLEL, WAKE_THRESHOLD
from sardonyx._src.compile.program.encoding.length_equations import LengthEquations
from sardonyx._src.compile.program.encoding.port_dims import PortDims, symbol_of
from sardonyx._src.compile.program.encoding.size_limits import ALL_STAGES, MAX_SIZE
from sardonyx._src.compile.program.operands.lazy_constants import CACHE_LINE_BYTES
from sardonyx._src.ir import Array
from sardonyx._src.runtime.fast_path.fast_path import MIN_GIL_RELEASE, OutputShape, native_inputs
from sardonyx._src.runtime.limits.thread_pool import SCHEDULING_DEFAULTS, tape_runner
from sardonyx._src.runtime.programs.arrays import SLOT_BYTES, FrameSlots, get_fast_entry, python_address
from sardonyx._src.runtime.programs.context_memory import ContextMemory
from sardonyx._src.runtime.programs.loaded_program import LoadedProgram
from sardonyx._src.runtime.programs.relocations import NativeSizeFunction, Slots
from sardonyx._src.runtime.results.output_arrays import MIN_ROUNDED_BYTES, new_output


class SizedPath:
    """The native entry of a program for all input sizes for which a context has memory.

    inputs: the names of the feeds.
    outputs: the shape and element type of each output in the last run; `read_outputs` renews them.
    is_large: whether these outputs, together, have at least MIN_ROUNDED_BYTES; output_bytes: the index of their bytes in `results`.
    is_changing: whether the last run had other sizes than the one before, as the next run may have.
    placement: the `placement` of the context's memory; the path is void if that changes.
    fed_lengths, lengths, results, varying, frame: memory that native code uses.
    """

    calls = None  # there are no actions in Python

    def __init__(self, memory: ContextMemory, max_bytes: int, equations: LengthEquations) -> None:
        """max_bytes: the limit of arena, scratch and outputs together.
        equations: what the lengths of a run must satisfy.
        """
        native = memory.native
        sizes, entry = native.size_function, get_fast_entry()
        assert isinstance(sizes, NativeSizeFunction) and sizes.ports is not None, "sizes must be computed"
        assert entry is not None, "the layout of arrays is unknown"
        self.ports: PortDims = sizes.ports
        self.placement, self.native = memory.placement, native
        self.inputs = tuple(value.name for value in native_inputs(native.program))
        self.dtypes = [tensor.dtype.numpy for tensor in self.ports.outputs]
        starts = accumulate((len(tensor.shape) for tensor in self.ports.outputs), initial=0)
        self.bounds = [*pairwise(starts)]
        count = len(native.stages)
        self.fed_lengths = np.array([-1] * count + [ALL_STAGES], np.int64)
        self.lengths = np.full(count, -1, np.int64)
        self.results = np.zeros(sizes.size, np.int64)
        slots = native.varying_slots
        targets = memory.slots.ctypes.data + slots * SLOT_BYTES
        self.varying = np.stack([targets, memory.bases[native.base_indices[slots]]], axis=1).astype(np.int64)
        self.output_bytes = sizes.count + entry_layout.OUTPUT_BYTES_RESULT
        self.dims = self.results[sizes.count + entry_layout.DIM_RESULTS :]
        frame = build_frame(self, memory, sizes, equations)
        frame[entry_layout.MAX_BYTES] = min(max_bytes, MAX_SIZE)
        self.frame: FrameSlots = np.array(frame, np.int64)
        self.enter: Callable[..., int] = entry.function(self.frame, "enter_sized")
        self.outputs: Sequence[OutputShape] = self.read_outputs()
        self.is_changing = False

    def read_outputs(self) -> Sequence[OutputShape]:
        """Renews `outputs` and `is_large` for the sizes that native code has computed last, and marks the path as changing."""
        self.is_changing = True
        self.is_large = int(self.results[self.output_bytes]) >= MIN_ROUNDED_BYTES
        dims = self.dims.tolist()
        self.outputs = [
            (tuple(dims[first:last]), dtype)
            for (first, last), dtype in zip(self.bounds, self.dtypes, strict=True)
        ]
        return self.outputs

    def new_outputs(self) -> list[Array]:
        """New arrays for `outputs`."""
        if not self.is_large:
            return [np.empty(shape, dtype) for shape, dtype in self.outputs]
        return [new_output(shape, dtype) for shape, dtype in self.outputs]

    def prepare(self, feeds: Mapping[str, object], out: object, max_bytes: int | None) -> bool:
        """Computes sizes before outputs are allocated, if they may be new or the caller has outputs; False as `fit`.

        max_bytes: the limit of arena, scratch and outputs for new sizes; None: that of the run before.
        """
        if max_bytes is not None:
            self.frame[entry_layout.MAX_BYTES] = min(max_bytes, MAX_SIZE)
        return self.fit(feeds) if self.is_changing or out is not None else True

    def fit(self, feeds: Mapping[str, object]) -> bool:
        """Computes sizes for feeds, and runs nothing; False if these cannot take the fast path."""
        state = self.enter(*map(feeds.get, self.inputs))
        self.is_changing = state == RESIZED
        if self.is_changing:
            self.read_outputs()
        return state in (READY, RESIZED)

    def forget_sizes(self) -> None:
        """Makes the next run compute all slots that depend on sizes."""
        self.lengths[0] = -1


def has_sized_path(native: LoadedProgram) -> bool:
    """Whether native code can compute the sizes of runs of a program that has a fast path."""
    sizes = native.size_function
    return native.has_fast_path and isinstance(sizes, NativeSizeFunction) and sizes.ports is not None


def build_frame(
    path: SizedPath, memory: ContextMemory, sizes: NativeSizeFunction, equations: LengthEquations
) -> list[int]:
    """The frame of `enter_sized`."""
    native, ports, frame = memory.native, path.ports, [0] * entry_layout.SIZED_BODY
    outputs = output_checks(path)
    patches = pointer_patches(path, memory)
    frame[entry_layout.ARRAY_COUNT] = len(ports.inputs) + len(ports.outputs)
    frame[entry_layout.FEED_COUNT], frame[entry_layout.RELOCATION_COUNT] = len(ports.inputs), len(patches)
    frame[entry_layout.ARRAY_TYPE] = id(np.ndarray)
    frame[entry_layout.TAPE], frame[entry_layout.RECORDS] = memory.slots_address, len(native.program.actions)
    frame[entry_layout.SCRATCH], frame[entry_layout.STRIDE] = memory.scratch.address, memory.scratch.stride
    frame[entry_layout.STATUS] = memory.status_address
    frame[entry_layout.ACQUIRE_GIL] = python_address("PyEval_RestoreThread")
    frame[entry_layout.MAKE_NUMBER] = python_address("PyLong_FromSsize_t")
    frame[entry_layout.SYMBOL_COUNT] = len(path.lengths)
    frame[entry_layout.FED_LENGTHS], frame[entry_layout.LENGTHS] = map(
        address_of, (path.fed_lengths, path.lengths)
    )
    frame[entry_layout.SIZE_FUNCTION] = sizes.library.addresses["sizes"]
    frame[entry_layout.RESULTS] = address_of(path.results)
    frame[entry_layout.VARYING], frame[entry_layout.VARYING_COUNT] = (
        address_of(path.varying),
        len(path.varying),
    )
    frame[entry_layout.ARENA_BYTES] = memory.arena.size - CACHE_LINE_BYTES
    frame[entry_layout.THREADS], frame[entry_layout.SIZE_LIMIT] = native.pool.threads, MAX_SIZE
    frame[entry_layout.OUTPUT_DIM_COUNT], frame[entry_layout.EQUATION_COUNT] = len(outputs), len(equations)
    frame[entry_layout.IS_RESIZED] = address_of(memory.is_resized)
    frame[entry_layout.RUN_ALONE] = tape_runner().library.addresses["run"]
    is_alone = native.pool.threads == 1
    frame[entry_layout.MAX_ALONE] = NEVER_PARALLEL if is_alone else SCHEDULING_DEFAULTS[WAKE_THRESHOLD]
    frame[entry_layout.SAVE_THREAD] = python_address("PyEval_SaveThread")
    frame[entry_layout.MIN_RELEASE] = -1 if native.has_loops else MIN_GIL_RELEASE
    frame[entry_layout.ITERATIONS] = ASSUMED_ITERATIONS if native.has_loops else 1
    frame += feed_checks(path)
    for entry in (*equation_checks(path, equations), *outputs, *patches):
        frame += entry
    return frame


def feed_checks(path: SizedPath) -> list[int]:
    """The expected properties of each feed: address of its element type, rank, two slots for each dim, and two of its count.

    The count is the symbol whose length is the only element of the feed, or "".

    The first dim of a symbol binds it.
    """
    bound: set[str] = set()
    checks: list[int] = []
    for tensor, count in zip(path.ports.inputs, path.ports.counts, strict=True):
        checks += [id(tensor.dtype.numpy), len(tensor.shape)]
        for dim in tensor.shape:
            if isinstance(dim, int):
                checks += [0, dim]
                continue
            name = symbol_of(dim)
            assert name is not None, f"{dim} is no symbol"
            number = path.native.symbol_indices[name]
            use = entry_layout.COMPARES if name in bound else entry_layout.BINDS
            bound.add(name)
            checks += [address_of(path.fed_lengths, number), use]
        is_count = bool(count)
        place = address_of(path.fed_lengths, path.native.symbol_indices[count]) if is_count else 0
        checks += [place, tensor.dtype.numpy.itemsize]
    return checks


def equation_checks(path: SizedPath, equations: LengthEquations) -> list[tuple[int, ...]]:
    """For each equation: 1 if it is a bound, its constant, the number of its factors, each of them after the address of its length."""
    checks = []
    for equation in equations:
        entry = [int(equation.is_bound), equation.constant, len(equation.factors)]
        for name, factor in equation.factors.items():
            entry += [address_of(path.fed_lengths, path.native.symbol_indices[name]), factor]
        checks.append(tuple(entry))
    return checks


def output_checks(path: SizedPath) -> list[tuple[int, int, int]]:
    """For each dim of an output: number of the array, axis, address of the computed dim."""
    first = len(path.ports.inputs)
    axes = [
        (first + i, axis) for i, tensor in enumerate(path.ports.outputs) for axis in range(len(tensor.shape))
    ]
    return [(*place, address_of(path.dims, i)) for i, place in enumerate(axes)]


def pointer_patches(path: SizedPath, memory: ContextMemory) -> list[tuple[int, int, int]]:
    """For each slot that points into a caller's array: number of the array, address of the slot, address of the offset."""
    native = path.native
    varying = {slot: i for i, slot in enumerate(native.varying_slots.tolist())}
    patches = []
    for number, tensor in enumerate((*path.ports.inputs, *path.ports.outputs)):
        for slot in native.relocations.get(tensor.buffer, np.empty(0, np.int64)).tolist():
            i = varying.get(slot)
            offset = address_of(native.fixed_slots, slot) if i is None else address_of(path.results, i)
            patches.append((number, address_of(memory.slots, slot), offset))
    return patches


def address_of(slots: Slots, index: int = 0) -> int:
    """The address of an element of an array."""
    return slots.ctypes.data + index * SLOT_BYTES

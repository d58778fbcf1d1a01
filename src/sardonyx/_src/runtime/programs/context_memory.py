"""The memory of an execution context: slots, arena, scratch, and the arrays of the caller; views of tensors in that memory.

Slots are the 64-bit numbers of an encoded program, the *tape*.  The slots that depend on the sizes of inputs are called
*varying*; a compiled size function of the program computes them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sardonyx._src.compile.executor import status
from sardonyx._src.compile.program import Buffer, TensorView
from sardonyx._src.compile.program.encoding.size_limits import MAX_SIZE
from sardonyx._src.compile.program.encoding.slot_bases import ARENA_BASE, SLOTS_BASE, STATUS_BASE
from sardonyx._src.compile.program.operands.lazy_constants import CACHE_LINE_BYTES
from sardonyx._src.dataclass import dataclass
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.ir import Array, Value
from sardonyx._src.ir.dims import Known, evaluate
from sardonyx._src.runtime.fallbacks.interruptible_calls import call_interruptibly
from sardonyx._src.runtime.limits.run_limits import MEMORY_LIMIT, Bailout, name_failed_guard
from sardonyx._src.runtime.programs.loaded_program import LoadedProgram
from sardonyx._src.runtime.programs.relocations import Slots

MIN_MEMORY_BYTES = (
    1 << 16
)  # of an arena, whose pages the system allocates at first use, and of each thread's scratch


@dataclass(frozen=True, slots=True)
class ComputedSizes:
    """The results of a program's size function for certain lengths.

    varying: the values of the slots that depend on input sizes.
    arena_bytes: the size of the arena.
    scratch_bytes: the size of the scratch memory of one thread.
    required_bytes: the bytes of arena, outputs, and scratch of all threads.
    sizes: the lengths by symbol.
    output_shapes: the dims of the outputs that kernels write.
    failure: the guard or limit that the lengths violate; "" if there is none.
    """

    varying: Slots
    arena_bytes: int
    scratch_bytes: int
    required_bytes: int
    sizes: dict[str, int]
    output_shapes: Mapping[Value, tuple[int, ...]]
    failure: str


class ContextMemory:
    """The memory that one run of a native program uses at a time, and the sizes that it is specialized for.

    slots: the tape and the arguments of its steps, which native code reads.
    values: the slots before base addresses are added.
    bases: the base addresses that are added to the values.
    status: the status block, by which native code reports faults, limits and its position.
    lengths: the lengths of all symbols, the data-dependent ones last.
    sizes: the same lengths by symbol.
    placement: counts how often arena or scratch have been replaced.
    is_resized: one element, which native code sets to 1 before it writes slots for other sizes.
    required_bytes: the bytes of arena, scratch and outputs for these sizes.
    output_shapes: the dims of outputs for these sizes.
    """

    def __init__(self, native: LoadedProgram) -> None:
        self.native = native
        self.symbols = tuple(native.program.stages)
        self.initialize()

    def initialize(self) -> None:
        """Allocates the memory that the context owns, not specialized for any sizes yet."""
        native = self.native
        self.slots = native.fixed_slots.copy()
        self.bases = native.bases.copy()
        self.status = np.zeros(status.STATUS_SLOTS, np.int64)
        self.slots_address, self.status_address = self.slots.ctypes.data, self.status.ctypes.data
        self.bases[SLOTS_BASE], self.bases[STATUS_BASE] = self.slots_address, self.status_address
        self.lengths = [0] * len(self.symbols)
        self.placement, self.is_resized = 0, np.zeros(1, np.int64)
        self.required_bytes = 0
        self.sizes: dict[str, int] = {}
        self.output_shapes: Mapping[Value, tuple[int, ...]] = {}
        self.arena = np.empty(0, np.uint8)
        self.scratch = native.pool.scratch(0)
        self.values = native.fixed_slots
        self.caller_arrays: dict[Buffer, Array] = {}  # feeds and outputs of the run
        self.arena_views: dict[tuple[TensorView, bool], Array] = {}  # by tensor and writeability
        self.slot_offsets: list[int] | None = (
            None  # offsets of arena slots of run-time size; computed on demand
        )
        self.slot_sizes: list[tuple[Known, ...]] = []  # the different sizes of the buffers of each such slot

    # --- sizes -------------------------------------------------------------------------------

    def compute_sizes(self, stage: int, max_bytes: int) -> ComputedSizes:
        """All sizes for the current lengths.

        stage: the stage of the program (`Program.stages`) up to which lengths are known; later ones are a guess.
        max_bytes: the limit on the memory of a run.
        """
        native = self.native
        varying, arena_bytes, scratch_bytes, faults = native.size_function(self.lengths, stage)
        sizes, required = dict(zip(native.stages, self.lengths, strict=True)), 0
        shapes: dict[Value, tuple[int, ...]] = {}
        if faults or not are_sizes(varying):
            failure = name_failed_guard(native.program, sizes, stage)
        else:
            written = [(value, x) for value, x in native.program.outputs.items() if x is not None]
            shapes = {value: tuple([evaluate_number(dim, sizes) for dim in x.shape]) for value, x in written}
            outputs = sum([math.prod(shapes[value]) * x.dtype.numpy.itemsize for value, x in written])
            required = arena_bytes + scratch_bytes * native.pool.threads + outputs
            failure = MEMORY_LIMIT if required > min(max_bytes, MAX_SIZE) else ""
        return ComputedSizes(varying, arena_bytes, scratch_bytes, required, sizes, shapes, failure)

    def occupy(self, result: ComputedSizes, *, keeps_elements: bool) -> None:
        """Allocates memory for these sizes, and computes all slots; raises Bailout if there is not enough memory.

        keeps_elements: whether the arena keeps its contents.
        """
        native = self.native
        values = native.fixed_slots.copy()
        values[native.varying_slots] = result.varying
        self.arena_views.clear()
        self.slot_offsets = None
        arena, scratch = self.arena, self.scratch
        try:
            self.arena = grow_memory(arena, result.arena_bytes, keeps_elements=keeps_elements)
            if result.scratch_bytes > scratch.stride:
                room = max(result.scratch_bytes, scratch.stride * 3 // 2, MIN_MEMORY_BYTES)
                self.scratch = native.pool.scratch(room)
        except (MemoryError, OSError):
            raise Bailout(MEMORY_LIMIT) from None
        self.placement += arena is not self.arena or scratch is not self.scratch
        self.bases[ARENA_BASE] = aligned_start(self.arena)
        self.values = values
        self.slots[:] = values + self.bases[native.base_indices]
        self.is_resized[0] = 0
        self.sizes, self.output_shapes = result.sizes, result.output_shapes
        self.required_bytes = result.required_bytes

    # --- the tape ----------------------------------------------------------------------------

    def run_tape(self, record: int, control: RunControl, arrays: object) -> int:
        """Runs kernel steps from a record on; returns the record at which the run loop stopped.

        It stops at a record that is not a kernel step, and after each signal interval, so that Python can handle signals.
        Raises CancelledError, or LimitError after the deadline.
        arrays: the feeds and outputs, which must live as long as a kernel uses them.
        """
        control.check()
        pool, count, block = self.native.pool, len(self.native.program.actions), self.status
        if block[status.LONG_UNITS] == status.REFUSED:
            return self.run_long_units(record, control, arrays)
        return pool.run(self.slots_address, record, count, self.scratch, self.status_address)

    def run_long_units(self, record: int, control: RunControl, arrays: object) -> int:
        """`run_tape` for a record of long units of work, which a helper thread executes."""
        native, block, slots, scratch = self.native, self.status, self.slots, self.scratch
        block[status.LONG_UNITS] = status.ALLOWED
        used_memory = (native, self.arena, arrays)

        def run_units() -> int:
            assert used_memory, "the memory must live as long as the call"
            return native.pool.run(slots.ctypes.data, record, record + 1, scratch, block.ctypes.data)

        try:
            return call_interruptibly(run_units, control)
        finally:
            block[status.LONG_UNITS] = 0

    # --- arrays of the caller ----------------------------------------------------------------

    def allocate_output(self, value: Value, tensor: TensorView | None) -> Array | None:
        """A new array for an output that kernels compute; None for an output that they do not (`tensor` is None)."""
        if tensor is None:
            return None
        try:
            array: Array = np.empty(self.output_shapes[value], tensor.dtype.numpy)
        except (MemoryError, ValueError):
            # ValueError: NumPy has no arrays of such dims, even without elements.
            raise Bailout(MEMORY_LIMIT) from None
        self.patch_pointer(tensor.buffer, array)
        return array

    def patch_pointer(self, buffer: Buffer, array: Array) -> None:
        """Writes the address of a caller's array into every slot that points into its buffer."""
        self.caller_arrays[buffer] = array
        slots = self.native.relocations.get(buffer)
        if slots is not None:
            self.slots[slots] = self.values[slots] + array.ctypes.data

    # --- views of tensors --------------------------------------------------------------------

    def view(self, tensor: TensorView, *, writeable: bool = False) -> Array:
        """The elements of a tensor, without a copy."""
        if tensor.buffer.role != "arena":
            return self.make_view(tensor, writeable=writeable)
        view = self.arena_views.get((tensor, writeable))
        if view is None:
            view = self.arena_views[tensor, writeable] = self.make_view(tensor, writeable=writeable)
        return view

    def make_view(self, tensor: TensorView, *, writeable: bool) -> Array:
        itemsize, shape = tensor.dtype.numpy.itemsize, self.shape(tensor)
        if 0 in shape:
            # Not a view: its offset may be past the end of the memory.
            return np.empty(shape, tensor.dtype.numpy)
        strides = tuple(self.evaluate(stride) * itemsize for stride in tensor.strides)
        memory, offset = self.memory_of(tensor.buffer)
        offset += self.evaluate(tensor.offset) * itemsize
        array: Array = np.ndarray(shape, tensor.dtype.numpy, memory, offset, strides)
        array.flags.writeable = writeable
        return array

    def memory_of(self, buffer: Buffer) -> tuple[Array, int]:
        """The array that a buffer is part of, and the byte offset at which it begins."""
        if buffer.role == "arena":
            start = aligned_start(self.arena) - self.arena.ctypes.data
            plan = self.native.plan
            if buffer in plan.offsets:
                return self.arena, start + plan.offsets[buffer]
            if buffer in plan.loans:
                loan = plan.loans[buffer]
                return self.caller_arrays[loan.output], loan.offset
            return self.arena, start + self.slot_offset(plan.slot_of[buffer])
        memory = buffer.data if buffer.role == "constant" else self.caller_arrays[buffer]
        assert memory is not None, f"{buffer.name} has no data"
        return memory, 0

    def slot_offset(self, slot: int) -> int:
        """The byte offset of a slot of run-time size in the arena."""
        if self.slot_offsets is None:
            # Lazy: few programs have slots of run-time size.
            from sardonyx._src.compile.program.encoding.size_functions import max_aligned_size

            plan = self.native.plan
            self.slot_sizes = self.slot_sizes or [
                tuple({b.size for b in each.buffers}) for each in plan.slots
            ]
            self.slot_offsets, total = [], plan.size
            for sizes in self.slot_sizes:
                self.slot_offsets.append(total)
                total += max_aligned_size(self.sizes, sizes)
        return self.slot_offsets[slot]

    def shape(self, tensor: TensorView) -> tuple[int, ...]:
        return tuple(self.evaluate(dim) for dim in tensor.shape)

    def evaluate(self, dim: Known) -> int:
        """A dim as a number, for the sizes that the context is specialized for."""
        return evaluate_number(dim, self.sizes)


def evaluate_number(dim: Known, sizes: Mapping[str, int]) -> int:
    """A dim as a number; sizes: the lengths by symbol, which must include all symbols of the dim."""
    if isinstance(dim, int):
        return dim
    number = evaluate(dim, sizes)
    assert number is not None, f"{dim} is not determined by {sorted(sizes)}"
    return number


def are_sizes(values: Slots) -> bool:
    """Whether all slots that depend on input sizes are within MAX_SIZE."""
    return not values.size or (int(values.max()) <= MAX_SIZE and int(values.min()) >= -MAX_SIZE)


def grow_memory(memory: Array, size: int, *, keeps_elements: bool) -> Array:
    """Memory of at least `size` bytes after its first cache-line boundary: the given array if it is large enough.

    New memory has at least `MIN_MEMORY_BYTES` and is at least half as large again, so that sizes which increase from run to run
    rarely reallocate.
    keeps_elements: whether the bytes from the first cache-line boundary on are copied to new memory.
    """
    required = size + CACHE_LINE_BYTES
    if memory.size >= required:
        return memory
    room = max(required, memory.size * 3 // 2, MIN_MEMORY_BYTES if size else 0)
    grown: Array = np.empty(room, np.uint8)
    if keeps_elements and memory.size:
        kept = aligned_bytes(memory)
        aligned_bytes(grown)[: kept.size] = kept
    return grown


def aligned_bytes(memory: Array) -> Array:
    """The bytes of an array from its first cache-line boundary on."""
    return memory[aligned_start(memory) - memory.ctypes.data :]


def aligned_start(memory: Array) -> int:
    """The address of the first cache line in an array."""
    return -(-memory.ctypes.data // CACHE_LINE_BYTES) * CACHE_LINE_BYTES

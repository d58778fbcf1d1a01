"""Slices of scan inputs and outputs that the steps of an iteration read and write in place, instead of copies.

A step at the beginning of an iteration stores the addresses of the current slices in the argument slots of
the steps that use them:

    x [length, ...], slice buffer s, y [length, ...]      x [length, ...], y [length, ...]
    loop:                                                 loop:
        s = x[i]                                              move &x[i], &y[i] into the slots of s and r
        r = kernel(s)                              ->         y[i] = kernel(x[i])
        y[i] = r

That is only done for slices with the strides of their buffers.  A result that is a state, or is not computed
in the loop, is copied.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sardonyx._src.compile.codegen import I64, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.lower.control_flow.loop_region import drop_axis
from sardonyx._src.compile.lower.control_flow.state_updates import covers_buffer
from sardonyx._src.compile.program import Buffer, Kernel, KernelArgument, Step, TensorView, element_bytes
from sardonyx._src.compile.program.steps.program import depends_on, local_symbols
from sardonyx._src.compile.program.steps.step import ArgumentSlot
from sardonyx._src.dataclass import dataclass

PARAMETERS = Parameters("count", "slices*")
RECORD = 4  # slots for a slice: address of the argument slot, address of the first slice, index, bytes between slices


@dataclass(frozen=True, slots=True)
class SequenceSlice:
    """A buffer that an iteration copies from or to a slice of a sequence.

    tensor: the view of the buffer.
    sequence: the tensor that has the slices, along `axis`.
    index: the index of the current slice, one int64.
    """

    tensor: TensorView
    sequence: TensorView
    axis: int
    index: TensorView

    @property
    def can_move(self) -> bool:
        """Whether a slice of the sequence has the dims and strides of the buffer, so that it can replace the buffer."""
        strides = drop_axis(self.sequence.strides, self.axis)
        shape = drop_axis(self.sequence.shape, self.axis)
        pairs = zip(self.tensor.shape, self.tensor.strides, strides, strict=True)
        return (
            shape == self.tensor.shape
            and covers_buffer(self.tensor)
            and all(dim == 1 or own == other for dim, own, other in pairs)
        )


def move_slices(
    steps: Sequence[Step],
    inputs: Sequence[SequenceSlice],
    outputs: Sequence[SequenceSlice],
    states: Collection[Buffer],
) -> list[Step]:
    """The steps of an iteration without copies of slices that can be used in place, after a step that stores their addresses."""
    moving: dict[Buffer, SequenceSlice] = {}
    remaining = [*steps]
    for part in (*inputs, *outputs):
        is_input = part in inputs
        copy = copy_of(part, remaining, is_input=is_input)
        if copy is None or not part.can_move:
            continue
        buffer = part.tensor.buffer
        is_computed = any(writes_buffer(step, buffer) for step in remaining if step is not copy)
        is_free = buffer not in moving and buffer not in states and not has_local_views(steps, buffer)
        if is_free and is_computed != is_input:
            moving[buffer] = part
            remaining = [step for step in remaining if step is not copy]
    if not moving:
        return [*steps]
    moved = [read_in_place(step, moving) for step in remaining]
    return [moving_step(remaining, moving), *moved]


def copy_of(part: SequenceSlice, steps: Sequence[Step], *, is_input: bool) -> Step | None:
    """The step that copies a slice; None if there is none, or if several steps write its target."""
    buffer = part.tensor.buffer if is_input else part.sequence.buffer
    writers = [step for step in steps if writes_buffer(step, buffer)]
    if len(writers) != 1:
        return None
    other = part.sequence.buffer if is_input else part.tensor.buffer
    is_copy = any(tensor.buffer is other for tensor in writers[0].reads)
    return writers[0] if is_copy else None


def has_local_views(steps: Sequence[Step], buffer: Buffer) -> bool:
    """Whether the address of a view of a buffer depends on local sizes, so that another step stores it."""
    local = local_symbols(steps)
    arguments = (arg for step in steps for arg in step.args if isinstance(arg, TensorView))
    return any(arg.buffer is buffer and depends_on(arg.offset, local) for arg in arguments)


def writes_buffer(step: Step, buffer: Buffer) -> bool:
    return any(tensor.buffer is buffer for tensor in step.writes)


def read_in_place(step: Step, moving: dict[Buffer, SequenceSlice]) -> Step:
    """A step with each moving buffer replaced: arguments by the first slice, declared tensors by the complete sequence."""

    def first_slice(argument: KernelArgument) -> KernelArgument:
        if not isinstance(argument, TensorView) or argument.buffer not in moving:
            return argument
        sequence = moving[argument.buffer].sequence
        return replace(argument, buffer=sequence.buffer, offset=sequence.offset + argument.offset)

    def all_slices(tensor: TensorView) -> TensorView:
        part = moving.get(tensor.buffer)
        return tensor if part is None else part.sequence

    return replace(
        step,
        args=tuple(map(first_slice, step.args)),
        reads=tuple(dict.fromkeys(map(all_slices, step.reads))),
        writes=tuple(dict.fromkeys(map(all_slices, step.writes))),
    )


def moving_step(steps: Sequence[Step], moving: dict[Buffer, SequenceSlice]) -> Step:
    """The step that stores the addresses of the current slices in argument slots of the steps after it."""
    records: list[KernelArgument] = []
    for distance, step in enumerate(steps, 1):
        for i, argument in enumerate(step.args):
            part = moving.get(argument.buffer) if isinstance(argument, TensorView) else None
            if part is not None and isinstance(argument, TensorView):
                first = replace(part.sequence, offset=part.sequence.offset + argument.offset)
                stride = part.sequence.strides[part.axis] * element_bytes(part.sequence.dtype)
                records += (ArgumentSlot(distance, i), first, part.index, stride)
    parts = moving.values()
    sequences = tuple(part.sequence for part in parts)
    indices = tuple(dict.fromkeys(part.index for part in parts))
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(count=len(records) // RECORD, slices=records)
    names = tuple(part.tensor.buffer.name for part in parts)
    return Step(MOVE, args, 1, (*indices, *sequences), (), nodes=names)


def module(name: str, target: Target) -> str:
    """The LLVM module of the kernel that moves slices."""
    b = KernelBuilder(target, PARAMETERS)
    slices = b.gep("%args", b.constant(PARAMETERS.index("slices"), I64), "i64")
    with b.loop(b.constant(0, I64), b.integer("count"), name="slice") as i:
        record = b.gep(slices, i * RECORD, "i64")
        slot, first, index, stride = (b.gep(record, b.constant(n, I64), "i64") for n in range(RECORD))
        number = b.load(MemoryLocation(b.load_pointer(index), I64))
        address = b.load(MemoryLocation(first, I64)) + number * b.load(MemoryLocation(stride, I64))
        b.store(MemoryLocation(b.load_pointer(slot), I64), address)
    return b.build_module(name)


MOVE = Kernel("move_slices", module, PARAMETERS)

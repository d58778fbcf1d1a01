"""Updates of loop-carried states at the end of an iteration: in place where possible, otherwise by copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.program import Buffer, Step, TensorView, element_bytes
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.compile.program.steps.step import Jump


def update_states(
    steps: Sequence[Step],
    results: Sequence[TensorView],
    states: Sequence[TensorView],
    names: Sequence[str],
) -> list[Step]:
    """The steps of an iteration, extended so that every state has its next value at the end.

    names: the names of the results, to which copies are attributed.
    """
    next_states, copies = separate_results(results, states, names)
    iteration = [*steps, *copies]
    for i, state in enumerate(states):
        result = next_states[i]
        updated = None if is_in_buffer(result, states) else update_state_in_place(iteration, result, state)
        if updated is None:
            iteration.append(copy_step(result, state).with_nodes((names[i],)))
        else:
            iteration = updated
            next_states = [
                replace(r, buffer=state.buffer) if r.buffer is result.buffer else r for r in next_states
            ]
    return iteration


def separate_results(
    results: Sequence[TensorView], states: Sequence[TensorView], names: Sequence[str]
) -> tuple[list[TensorView], list[Step]]:
    """The next values of the states, none of them in the buffer of a state; values that were in one are copied by steps."""
    separate, copies = [], []
    for result, name in zip(results, names, strict=True):
        target = result
        if is_in_buffer(result, states):
            target = dense_temporary(result.dtype, result.shape, name)
            copies.append(copy_step(result, target).with_nodes((name,)))
        separate.append(target)
    return separate, copies


def is_in_buffer(tensor: TensorView, states: Sequence[TensorView]) -> bool:
    """Whether a tensor is in the buffer of a state."""
    return any(tensor.buffer is state.buffer for state in states)


def update_state_in_place(steps: list[Step], result: TensorView, state: TensorView) -> list[Step] | None:
    """The steps with the result written directly over its state; None if a later step reads the state.

    state: a tensor that covers its buffer.
    """
    first_write = next((i for i, step in enumerate(steps) if accesses(step.writes, result.buffer)), None)
    if first_write is None or not covers_buffer(result):
        return None
    last_read = max((i for i, step in enumerate(steps) if accesses(step.reads, state.buffer)), default=-1)
    if (
        last_read > first_write
        or (last_read == first_write and not can_update_in_place(steps[first_write], state))
        or is_inside_loop(steps, first_write, last_read)
    ):
        return None
    return [replace_buffer(step, result.buffer, state.buffer) for step in steps]


def covers_buffer(tensor: TensorView) -> bool:
    """Whether a tensor is dense and covers all of an arena buffer."""
    is_all = tensor.buffer.size == tensor.num_elements * element_bytes(tensor.dtype) and tensor.offset == 0
    return tensor.buffer.role == "arena" and tensor.is_dense and is_all


def can_update_in_place(step: Step, state: TensorView) -> bool:
    """Whether a step may overwrite the state that it reads: it is elementwise, and all accesses have the same layout."""
    result, *other_results = step.writes
    reads = [tensor for tensor in step.reads if tensor.buffer is state.buffer]
    return (
        step.in_place
        and not other_results
        and len({memory_layout(tensor) for tensor in (result, *reads)}) == 1
    )


def memory_layout(tensor: TensorView) -> tuple[object, ...]:
    """A key that is equal for tensors with the same elements in their buffers; unit dims are left out."""
    dims = [(dim, stride) for dim, stride in zip(tensor.shape, tensor.strides, strict=True) if dim != 1]
    return element_bytes(tensor.dtype), tensor.offset, *dims


def is_inside_loop(steps: list[Step], first: int, last: int) -> bool:
    """Whether both steps are in an inner loop, in which step `last` also runs after step `first`."""
    ends = ((i, i + step.jump.distance) for i, step in enumerate(steps) if step.jump is not None)
    return any(start <= last and first <= end for end, start in ends)


def accesses(tensors: tuple[TensorView, ...], buffer: Buffer) -> bool:
    return any(tensor.buffer is buffer for tensor in tensors)


def replace_buffer(step: Step, old: Buffer, new: Buffer) -> Step:
    """The step with all tensors of one buffer moved to another one."""

    def move(tensor: TensorView) -> TensorView:
        return replace(tensor, buffer=new) if tensor.buffer is old else tensor

    return replace(
        step,
        args=tuple(move(arg) if isinstance(arg, TensorView) else arg for arg in step.args),
        reads=tuple(map(move, step.reads)),
        writes=tuple(map(move, step.writes)),
        jump=None if step.jump is None else Jump(move(step.jump.flag), step.jump.distance),
    )

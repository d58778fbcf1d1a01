"""Verifier of programs: asserts what encoding and the executor rely on.

Every check raises AssertionError with the action that violates it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from sardonyx._src.compile.program import Buffer, Step, TensorView
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.compile.program.steps.guards import can_hold
from sardonyx._src.compile.program.steps.program import COUNT_AXIS, Action, Program, describe_action
from sardonyx._src.compile.program.steps.step import ArgumentSlot, RecordSlot, TensorAddress
from sardonyx._src.compile.program.verification.size_facts import SizeFacts
from sardonyx._src.compile.program.verification.verify_bindings import verify_bindings
from sardonyx._src.compile.program.verification.verify_in_place import verify_in_place
from sardonyx._src.compile.program.verification.verify_local_sizes import verify_local_sizes
from sardonyx._src.ir.dims import Expr, known_ge, symbol
from sardonyx._src.phases import phase

ARGUMENT_TYPES = (TensorView, int, Expr, ArgumentSlot, RecordSlot, TensorAddress, CachedCount)
Where: TypeAlias = Callable[[], str]  # describes an action, for messages


@phase("verify")
def verify_program(program: Program) -> None:
    """Asserts that on every path through a program buffers are written before they are read, and that its steps are valid."""
    previous: Action | None = None
    facts = SizeFacts((*program.guards, *program.local_guards))
    for i, action in enumerate(program.actions):
        if isinstance(action, Step):
            where = partial(describe_action, program.actions, i)
            verify_step(action, previous, where)
            verify_in_place(action, facts, where)
            verify_slots(program.actions, i)
            verify_jump(program.actions, i)
        previous = action
    verify_inputs(program, facts)
    verify_bindings(program, partial(describe_action, program.actions))
    verify_local_sizes(program)
    written = verify_order(program.actions)
    for value, tensor in program.outputs.items():
        is_written = tensor is None or tensor.buffer.role != "output" or tensor.buffer in written
        assert is_written, f"no action writes the output {value.name}"
    for guard in program.guards:
        assert can_hold(guard), f"the guard {guard} never holds"


def verify_inputs(program: Program, facts: SizeFacts) -> None:
    """A dim of an input is the size that callers may choose, or a guard says what it must be."""
    tensors = {value.name: tensor for value, tensor in program.inputs.items()}
    for name, (of, axis) in program.sizes.items():
        if of in tensors and axis != COUNT_AXIS:
            dim, size = tensors[of].shape[axis], symbol(name)
            is_known = isinstance(dim, Expr) and dim.substitute({name: size}) == size
            assert is_known or facts.are_equal(dim, size), (
                f"dim {axis} of the input {of} is {dim}, which is neither {name} nor guarded"
            )


def verify_step(step: Step, previous: Action | None, where: Where) -> None:
    """Arguments are dims, or tensors that the step declares to read or write; amounts are not negative.

    Adjacent steps of a node may have the same arguments: a tensor may be declared by the previous step only.
    where: describes the step, for messages.
    """
    declared = {tensor.buffer for tensor in (*step.reads, *step.writes)}
    if isinstance(previous, Step) and previous.nodes == step.nodes:
        declared.update(tensor.buffer for tensor in (*previous.reads, *previous.writes))
    for argument in step.args:
        is_valid = isinstance(argument, ARGUMENT_TYPES) and not isinstance(argument, bool)
        assert is_valid, f"{where()}: expected a tensor or a dim as argument, got {argument!r}"
        if isinstance(argument, TensorView):
            assert argument.buffer in declared, (
                f"{where()}: neither reads nor writes have the argument {argument}"
            )
    for name, amount in (("units", step.units), ("FLOPs", step.flops), ("scratch", step.scratch)):
        assert known_ge(amount, 0) is not False, f"{where()}: {name} must not be negative; got {amount}"
    verify_row_groups(step, where)
    for tensor in step.writes:
        is_writable = tensor.buffer.role in ("arena", "output", "status")
        assert is_writable, f"{where()} writes to a buffer of role {tensor.buffer.role}"


def verify_row_groups(step: Step, where: Where) -> None:
    """The units of a grid fill its panels; not checked for symbolic sizes."""
    count = 0 if step.row_groups is None else step.row_groups.count
    if isinstance(count, int) and isinstance(step.units, int) and count:
        assert step.units % count == 0, f"{where()}: {step.units} units are no grid of {count} row groups"


def verify_slots(actions: Sequence[Action], index: int) -> None:
    """Argument slots that a step changes hold addresses of tensors, in steps after it."""
    step = actions[index]
    slots = [arg for arg in step.args if isinstance(arg, ArgumentSlot)] if isinstance(step, Step) else []
    for slot in slots:
        where, target = describe_action(actions, index), index + slot.distance
        assert index < target < len(actions), f"{where} changes arguments of action {target}"
        action = actions[target]
        # `verify_local_sizes` verifies the slots that a binding step stores.
        is_binding = isinstance(step, Step) and step.binds is not None
        assert isinstance(action, Step) and (is_binding or isinstance(action.args[slot.index], TensorView)), (
            f"{where} changes argument {slot.index} of action {target}, which must be a tensor"
        )


def verify_jump(actions: Sequence[Action], index: int) -> None:
    """A jump stays inside the program, and its flag is a tensor that the step declares."""
    step = actions[index]
    if isinstance(step, Step) and step.jump is not None:
        where, target = describe_action(actions, index), index + step.jump.distance
        assert step.jump.distance != 0, f"{where} jumps to itself"
        assert 0 <= target <= len(actions), f"{where} jumps to action {target} of {len(actions)}"
        declared = {tensor.buffer for tensor in (*step.reads, *step.writes)}
        assert step.jump.flag.buffer in declared, f"{where} does not declare the flag of its jump"


def verify_order(actions: Sequence[Action]) -> set[Buffer]:
    """On every path, a buffer is written before it is read.  Returns the buffers that are written on all paths.

    A jump back adds no path to check: buffers that are written before a loop are written in each of its
    iterations as well.
    """
    arriving: dict[int, set[Buffer]] = {}  # buffers written on all paths that jump forward to an action
    written: set[Buffer] | None = set()  # None after an unconditional jump
    for i, action in enumerate(actions):
        written = join_paths(written, arriving.pop(i, None))
        for tensor in action.reads:
            is_filled = tensor.buffer.role not in ("arena", "output") or tensor.buffer in written
            assert is_filled, (
                f"{describe_action(actions, i)} reads {tensor.buffer.name}, which is not written on every path to it"
            )
        written.update(tensor.buffer for tensor in action.writes)
        jump = action.jump if isinstance(action, Step) else None
        if jump is not None and jump.distance > 0:
            target = i + jump.distance
            arriving[target] = join_paths(set(written), arriving.get(target))
            written = None if jump.flag.buffer.role == "constant" else written
    return join_paths(written, arriving.pop(len(actions), None))


def join_paths(a: set[Buffer] | None, b: set[Buffer] | None) -> set[Buffer]:
    """The buffers that are written on both of two paths, each of which is None if it does not exist."""
    if a is None or b is None:
        return (a or set()) if b is None else b
    return a & b

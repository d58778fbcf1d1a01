"""Verifier of local sizes, which steps bind whenever they are executed (`local_sizes`).

Asserts that a binding step checks each local size and stores every slot that depends on it, on every path before the
slot is used, and that no buffer's size depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from sardonyx._src.compile.executor.pool_layout import UNITS
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.compile.program.encoding.binding_kernel import SizeBinding
from sardonyx._src.compile.program.encoding.local_sizes import sizes_used, slots_of
from sardonyx._src.compile.program.steps.program import Action, Program, depends_on, describe_action
from sardonyx._src.compile.program.steps.step import ArgumentSlot, RecordSlot
from sardonyx._src.ir.dims import Expr

StepSlot: TypeAlias = (
    "tuple[int, str, int]"  # number of the action, whether of its record or its arguments, number of the slot
)


def verify_local_sizes(program: Program) -> None:
    """Asserts that the local sizes of a program are bound, checked and stored before they are used."""
    local = program.local_symbols
    if not local:
        return
    verify_paths(program.actions, local)
    stored = {slot for i, action in enumerate(program.actions) for slot in slots_stored(action, i)}
    for i, action in enumerate(program.actions):
        where = describe_action(program.actions, i)
        for slot in slots_required(action, i, local):
            assert slot in stored, f"{where} has the local size in {slot}, which no step stores"
        for tensor in (*action.reads, *action.writes):
            assert not depends_on(tensor.buffer.size, local), (
                f"{where}: {tensor.buffer.name} has a local size"
            )
    verify_checks(program, local)


def verify_checks(program: Program, local: frozenset[str]) -> None:
    """The binding steps check every local guard, every local dim, and the sizes that must fit in reserved memory."""
    bindings = [binding_of(action) for action in program.actions if isinstance(action, Step) and action.binds]
    equal = {pair for binding in bindings for pair in binding.equal}
    dims = {dim for binding in bindings for dim in binding.dims}
    at_most = {pair for binding in bindings for pair in binding.at_most}
    for guard in program.local_guards:
        assert guard in equal, f"no step checks the guard {guard}"
    for action in program.actions:
        for tensor in (*action.reads, *action.writes):
            for dim in tensor.shape:
                assert not depends_on(dim, local) or dim in dims, f"no step checks that {dim} is not negative"
        if isinstance(action, Step) and action.binds is not None:
            for pair in action.binds.at_most:
                assert pair in at_most, f"no step checks that {pair[0]} is at most {pair[1]}"


def verify_paths(actions: Sequence[Action], local: frozenset[str]) -> None:
    """On every path to an action, the local sizes that it depends on are bound; a jump back adds no path to check."""
    arriving: dict[int, frozenset[str]] = {}
    bound: frozenset[str] | None = frozenset()
    for i, action in enumerate(actions):
        joined = arriving.pop(i, None)
        bound = joined if bound is None else bound if joined is None else bound & joined
        assert bound is not None, f"no path leads to {describe_action(actions, i)}"
        used = {
            name for size in sizes_used(action) if isinstance(size, Expr) for name in size.symbols() & local
        }
        assert used <= bound, (
            f"{describe_action(actions, i)} depends on {sorted(used - bound)}, which is not bound"
        )
        if isinstance(action, Step) and action.binds is not None:
            bound |= action.binds.limits.keys()
        jump = action.jump if isinstance(action, Step) else None
        if jump is not None and jump.distance > 0:
            target = i + jump.distance
            arriving[target] = bound & arriving.get(target, bound)
            bound = None if jump.flag.buffer.role == "constant" else bound


def slots_stored(action: Action, index: int) -> Iterator[StepSlot]:
    """The slots that a binding step stores."""
    if isinstance(action, Step) and action.binds is not None:
        for argument in action.args:
            if isinstance(argument, ArgumentSlot | RecordSlot):
                yield step_slot(argument, index)


def slots_required(action: Action, index: int, local: frozenset[str]) -> Iterator[StepSlot]:
    """The slots of an action that depend on local sizes.

    If any size of the action does, its number of units must be stored, too, so that none are executed after a fault.
    """
    if not isinstance(action, Step):
        return
    for slot, size in slots_of(action, 0):
        if depends_on(size, local):
            yield step_slot(slot, index)
    for i, argument in enumerate(action.args):
        if isinstance(argument, TensorView) and depends_on(argument.offset, local):
            yield step_slot(ArgumentSlot(0, i), index)
    if any(depends_on(size, local) for size in sizes_used(action)):
        yield step_slot(RecordSlot(0, UNITS), index)


def step_slot(slot: ArgumentSlot | RecordSlot, index: int) -> StepSlot:
    """The slot of a step `slot.distance` actions after action number `index`."""
    if isinstance(slot, RecordSlot):
        return index + slot.distance, "record", slot.slot
    return index + slot.distance, "argument", slot.index


def binding_of(step: Step) -> SizeBinding:
    """The sizes that the kernel of a binding step binds, stores and checks."""
    binding = getattr(step.kernel.source, "keywords", {}).get("binding")
    assert isinstance(binding, SizeBinding), f"the kernel {step.kernel.key} must bind sizes"
    return binding

"""Local sizes: sizes that a step binds whenever it is executed, such as the length of a slice in each iteration of a loop.

Slots of later steps that depend on a local size cannot be computed when a run begins.  The *binding step* computes
and stores them.  Buffers have room for the greatest sizes.

    bounds = slice_bounds(starts, ends)                   bounds = slice_bounds(starts, ends)
    bind start, n = bounds                        ->      check start, n; store &x[start] and n in the slots of the sum
    y = sum(x[start : start + n])                         y = sum(x[start : start + n])

The binding step also checks what the compiler relies on: limits, reserved memory, guards, and that no dim is negative
and no arithmetic overflows.  A violation is a fault of the run, and steps that depend on the sizes then have no units
of work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from sardonyx._src.compile.executor.pool_layout import ROW_GROUPS, UNITS, WEIGHT
from sardonyx._src.compile.executor.status import STATUS_SLOTS
from sardonyx._src.compile.program import Buffer, Kernel, KernelArgument, Step, TensorView, element_bytes
from sardonyx._src.compile.program.encoding.binding_kernel import SizeBinding, SlotStore, binding_kernel
from sardonyx._src.compile.program.encoding.encoding import weight_of
from sardonyx._src.compile.program.encoding.upper_bounds import upper_bound
from sardonyx._src.compile.program.steps.program import Action, Program, depends_on, local_symbols
from sardonyx._src.compile.program.steps.step import ArgumentSlot, LocalSizes, RecordSlot, TensorAddress
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.ir.dims.atoms import Symbol, leaves
from sardonyx._src.ir.dims.expr import atom_expr

Slot = ArgumentSlot | RecordSlot
# A size that a binding step stores, with the arguments for it: the slot and, for an address, the address it
# is counted from.
StoreArguments: TypeAlias = "tuple[SlotStore, tuple[KernelArgument, ...]]"


def binding_step(binds: LocalSizes, status: TensorView) -> Step:
    """The step that binds sizes.  It has no kernel until `compile_bindings` completes it, when all steps are known."""
    block = replace(status, shape=(STATUS_SLOTS,))
    counts = tuple(dict.fromkeys(binds.counts.values()))
    return Step(UNKNOWN_BINDING, (), 1, counts, (block,), binds=binds)


def unknown_source(name: str, target: object) -> str:
    raise AssertionError(f"the kernel {name} must be completed")


UNKNOWN_BINDING = Kernel("bind_sizes", unknown_source)


# --- memory ----------------------------------------------------------------------------------


def reserve_memory(actions: Sequence[Action]) -> list[Action] | None:
    """The actions, with buffers and scratch memory that have room for the greatest sizes that these actions bind.

    Returns None if one of them has no upper bound.
    """
    limits: dict[str, Known] = {}
    for action in actions:
        if isinstance(action, Step) and action.binds is not None:
            limits |= action.binds.limits
    if not limits:
        return [*actions]
    reserved: dict[tuple[Known, Known], None] = {}
    for buffer in {buffer: None for action in actions for buffer in buffers_of(action)}:
        if depends_on(buffer.size, limits):
            bound = upper_bound(buffer.size, limits)
            if bound is None:
                return None
            reserved[buffer.size, bound] = None
            buffer.size = bound
    result: list[Action] = []
    for action in actions:
        if isinstance(action, Step) and depends_on(action.scratch, limits):
            bound = upper_bound(action.scratch, limits)
            if bound is None:
                return None
            reserved[action.scratch, bound] = None
            action = replace(action, scratch=bound)
        result.append(action)
    return [with_reserved(action, tuple(reserved), result) for action in result]


def with_reserved(
    action: Action, reserved: tuple[tuple[Known, Known], ...], actions: Sequence[Action]
) -> Action:
    """The action; if it is the first that binds sizes, with the pairs (size, reserved bound) to check."""
    first = next(a for a in actions if isinstance(a, Step) and a.binds is not None)
    if action is not first or not isinstance(action, Step) or action.binds is None:
        return action
    return replace(action, binds=replace(action.binds, at_most=(*action.binds.at_most, *reserved)))


def buffers_of(action: Action) -> Iterator[Buffer]:
    """The buffers of the arena that an action uses."""
    arguments = action.args if isinstance(action, Step) else ()
    for tensor in (*action.reads, *action.writes, *arguments):
        if isinstance(tensor, TensorView) and tensor.buffer.role == "arena":
            yield tensor.buffer


# --- kernels of binding steps ----------------------------------------------------------------


def compile_bindings(program: Program) -> Program:
    """The program with the kernels of its binding steps; guards of local sizes become `local_guards`."""
    local = local_symbols(program.actions)
    if not local:
        return program
    local_guards = tuple(g for g in program.guards if any(depends_on(side, local) for side in g))
    guards = tuple(g for g in program.guards if g not in set(local_guards))
    compiler = BindingCompiler(program.actions, local_guards)
    return replace(program, actions=compiler.compile(), guards=guards, local_guards=local_guards)


class BindingCompiler:
    """Completes the binding steps of a program.

    owners: for each local symbol, the index of the step that binds it.
    at_most: the pairs of sizes of which the first must be at most the second.

    An expression of the symbols of several steps is computed by the last of these steps.  It gets the symbols of the
    earlier steps as arguments, which those store.
    """

    def __init__(self, actions: Sequence[Action], guards: Sequence[tuple[Known, Known]]) -> None:
        self.actions, self.guards = [*actions], guards
        self.owners: dict[str, int] = {}
        self.at_most: list[tuple[Known, Known]] = []
        for i, action in enumerate(actions):
            if isinstance(action, Step) and action.binds is not None:
                assert self.owners.keys().isdisjoint(action.binds.limits), "a size must be bound by one step"
                self.owners |= dict.fromkeys(action.binds.limits, i)
                self.at_most += [
                    *action.binds.at_most,
                    *((symbol_of(n), m) for n, m in action.binds.limits.items()),
                ]

    def compile(self) -> list[Action]:
        """The completed actions.  The last binding step is completed first, since earlier ones store some of its arguments."""
        for i in sorted({*self.owners.values()}, reverse=True):
            step = self.actions[i]
            assert isinstance(step, Step) and step.binds is not None, f"action {i} must bind sizes"
            self.actions[i] = self.complete(step, step.binds, i)
        return self.actions

    def owner(self, *sizes: object) -> int:
        """The index of the last step that binds a symbol of the sizes; -1 if there is none."""
        names = (size.symbols() for size in sizes if isinstance(size, Expr))
        return max((self.owners.get(name, -1) for name in set().union(*names)), default=-1)

    def complete(self, step: Step, binds: LocalSizes, index: int) -> Step:
        targets = [*self.targets_of(index)]
        binding = SizeBinding(
            tuple(binds.limits),
            tuple(store for store, _ in targets),
            tuple(dict.fromkeys(dim for dim in self.local_dims() if self.owner(dim) == index)),
            tuple(pair for pair in self.guards if self.owner(*pair) == index),
            tuple(dict.fromkeys(pair for pair in self.at_most if self.owner(*pair) == index)),
        )
        others = self.other_symbols(binding)
        kernel = binding_kernel(binding, tuple(others))
        stored = [argument for _, arguments in targets for argument in arguments]
        args: tuple[KernelArgument, ...] = kernel.parameters.pack(
            status=step.writes[0],
            **{f"count{i}": binds.counts[name] for i, name in enumerate(binds.limits)},
            **{f"size{i}": atom_expr(symbol) for i, symbol in enumerate(others.values())},
            targets=stored,
        )
        return replace(step, kernel=kernel, args=args)

    def other_symbols(self, binding: SizeBinding) -> Mapping[str, Symbol]:
        """The symbols that a binding step uses, but does not bind, by name."""
        atoms = (atom for size in binding.sizes for atom in leaves(size) if isinstance(atom, Symbol))
        return {atom.name: atom for atom in atoms if atom.name not in binding.names}

    def local_dims(self) -> Iterator[Expr]:
        """The dims of tensors that depend on local sizes."""
        for action in self.actions:
            for tensor in (*action.reads, *action.writes):
                yield from (dim for dim in tensor.shape if isinstance(dim, Expr) and self.owner(dim) >= 0)

    def targets_of(self, index: int) -> Iterator[StoreArguments]:
        """The sizes that the binding step with this index stores, in the slots of all later steps."""
        for distance, step in enumerate(self.actions[index + 1 :], 1):
            if isinstance(step, Step):
                yield from self.targets_in(step, distance, index)

    def targets_in(self, step: Step, distance: int, index: int) -> Iterator[StoreArguments]:
        """The sizes that the binding step `index` stores in the slots of one step, `distance` actions later."""
        units = RecordSlot(distance, UNITS)
        if self.owner(*sizes_used(step)) == index:
            yield SlotStore(step.units, has_jump=step.jump is not None, is_units=True), (units,)
        for slot, size in slots_of(step, distance):
            if self.owner(size) == index and slot != units:
                yield SlotStore(size), (slot,)
        for i, argument in enumerate(step.args):
            if isinstance(argument, TensorView) and self.owner(argument.offset) == index:
                outer, inner = split_terms(argument.offset, self.owners)
                store = SlotStore(inner * element_bytes(argument.dtype), is_address=True)
                yield store, (ArgumentSlot(distance, i), TensorAddress(replace(argument, offset=outer)))


def sizes_used(action: Action) -> Iterator[Known]:
    """All sizes that an action depends on."""
    tensors = [*action.reads, *action.writes]
    if isinstance(action, Step):
        yield from (size for _, size in slots_of(action, 0))
        yield action.scratch
        tensors += [argument for argument in action.args if isinstance(argument, TensorView)]
    for tensor in tensors:
        yield from (*tensor.shape, *tensor.strides, tensor.offset, tensor.buffer.size)


def slots_of(step: Step, distance: int) -> Iterator[tuple[Slot, Known]]:
    """The slots of a step, `distance` actions later, that hold numbers, each with its number."""
    yield RecordSlot(distance, UNITS), step.units
    yield RecordSlot(distance, WEIGHT), weight_of(step)
    if step.row_groups is not None:
        yield RecordSlot(distance, ROW_GROUPS), step.row_groups.count
    for i, argument in enumerate(step.args):
        if isinstance(argument, int | Expr):
            yield ArgumentSlot(distance, i), argument


def split_terms(size: Known, symbols: Mapping[str, int]) -> tuple[Known, Known]:
    """A sum in two parts: the terms that depend on none of the symbols, and the other terms."""
    outer: Known = size if isinstance(size, int) else 0
    inner: Known = 0
    for monomial, factor in size.terms.items() if isinstance(size, Expr) else ():
        term: Known = Expr({monomial: factor}) if monomial else factor
        if depends_on(term, symbols):
            inner = inner + term
        else:
            outer = outer + term
    return outer, inner


def symbol_of(name: str) -> Known:
    return atom_expr(Symbol(name))

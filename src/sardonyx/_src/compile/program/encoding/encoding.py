"""Encodes a program as i64 slots: the tape, with one record for each action, and then the arguments of the kernels.

A slot is a number, or an address given as a base, chosen when the program is loaded, and an offset in bytes
(a relocation).  Numbers and offsets that depend on input sizes are expressions, which the program's size function
evaluates (`size_functions.py`).
"""

from __future__ import annotations

from dataclasses import field
from itertools import accumulate

from sardonyx._src.compile.executor.pool_layout import (
    ARGS,
    BLOCK_GROUPS,
    FLAG,
    JUMP,
    KERNEL,
    RECORD_SLOTS,
    ROW_GROUPS,
    UNITS,
    UNKNOWN_WEIGHT,
    WEIGHT,
)
from sardonyx._src.compile.program import Buffer, KernelArgument, Step, TensorView, element_bytes
from sardonyx._src.compile.program.encoding.size_limits import fits_int64
from sardonyx._src.compile.program.encoding.slot_bases import (
    ARENA_BASE,
    NO_BASE,
    SLOTS_BASE,
    STATUS_BASE,
    RelocationBase,
)
from sardonyx._src.compile.program.memory.arena import MemoryPlan
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.compile.program.steps.program import Program, depends_on
from sardonyx._src.compile.program.steps.step import ArgumentSlot, RecordSlot, TensorAddress
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Expr, Known, has_opaque_part, symbol
from sardonyx._src.phases import phase

MAX_WEIGHT = (
    UNKNOWN_WEIGHT  # the greatest weight of a step that is known at compile time, so that it fits a slot
)
FLOPS_PER_NANOSECOND, FLOPS_PER_BYTE = (
    50,
    4,
)  # nominal throughput, to estimate the nanoseconds (weight) of a step


@dataclass(slots=True)
class Encoding:
    """The encoded program: `values[i]` is the number in slot i, or its offset from the base with index `bases[i]`.

    extra_bases: the indices of bases other than the four common ones: buffers, kernels, and counts, whose "address" is the
        number that fits the caches of the machine.
    scratch_sizes: bytes of scratch memory for each thread, of the steps that need any.
    argument_starts: the slot of the first argument of each action.
    plan: where the buffers of the arena are.
    local: the symbols that steps bind.  A value that depends on them is encoded as 0, since these steps store
        it (`local_sizes`).
    oversized: the number of slots whose numbers no i64 can hold.  They are encoded as 0, and count as violations of the
    size function, so that no run reads them.
    """

    plan: MemoryPlan
    values: list[Known] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)
    extra_bases: dict[RelocationBase, int] = field(default_factory=dict)
    scratch_sizes: list[Known] = field(default_factory=list)
    oversized: int = 0
    argument_starts: list[int] = field(default_factory=list)
    local: frozenset[str] = frozenset()

    def base_index(self, base: RelocationBase) -> int:
        """The index of a base, assigned at its first use."""
        return self.extra_bases.setdefault(base, len(self.extra_bases) + STATUS_BASE + 1)

    def append(self, value: Known, base: int = NO_BASE) -> None:
        """Appends a slot."""
        self.values.append(self.check_number(value))
        self.bases.append(base)

    def set_slot(self, index: int, value: Known, base: int = NO_BASE) -> None:
        self.values[index], self.bases[index] = self.check_number(value), base

    def check_number(self, value: Known) -> Known:
        """The value; 0 instead of a value that a step stores, and of a number that no slot can hold, which is counted."""
        if self.local and depends_on(value, self.local):
            return 0
        if isinstance(value, Expr) or fits_int64(value):
            return value
        self.oversized += 1
        return 0

    def encode_argument(self, argument: KernelArgument, action: int) -> tuple[Known, int]:
        """The value and the base of an argument of an action: a number, or the address of a tensor's first element."""
        if isinstance(argument, ArgumentSlot):
            return 8 * (self.argument_starts[action + argument.distance] + argument.index), SLOTS_BASE
        if isinstance(argument, RecordSlot):
            return 8 * (RECORD_SLOTS * (action + argument.distance) + argument.slot), SLOTS_BASE
        if isinstance(argument, CachedCount):
            return 0, self.base_index(argument)
        if isinstance(argument, TensorAddress):
            argument = argument.tensor
        if not isinstance(argument, TensorView):
            return argument, NO_BASE
        offset = argument.offset * element_bytes(argument.dtype)
        buffer = argument.buffer
        loan = self.plan.loans.get(buffer)
        if loan is not None:
            return offset + loan.offset, self.base_index(loan.output)
        match buffer.role:
            case "arena":
                return offset + self.arena_offset(buffer), ARENA_BASE
            case "status":
                return offset, STATUS_BASE
        return offset, self.base_index(buffer)

    def arena_offset(self, buffer: Buffer) -> Known:
        """The offset of a buffer in the arena, in bytes."""
        slot = self.plan.slot_of.get(buffer)
        return self.plan.offsets[buffer] if slot is None else arena_slot_symbol(slot)

    def encode_record(self, action: int, step: Step) -> None:
        """Fills in the record of a step, the action of this number, and appends the step's arguments."""
        start = action * RECORD_SLOTS
        self.set_slot(start + KERNEL, 0, self.base_index(step.kernel))
        self.set_slot(start + ARGS, 8 * len(self.values), SLOTS_BASE)
        self.set_slot(start + UNITS, step.units)
        self.set_slot(start + WEIGHT, weight_of(step))
        if step.scratch != 0:
            self.scratch_sizes.append(step.scratch)
        if step.jump is not None:
            self.set_slot(start + JUMP, step.jump.distance)
            self.set_slot(start + FLAG, *self.encode_argument(step.jump.flag, action))
        if step.row_groups is not None:
            self.set_slot(start + ROW_GROUPS, step.row_groups.count)
            self.set_slot(start + BLOCK_GROUPS, *self.encode_argument(step.row_groups.block, action))
        for argument in step.args:
            self.append(*self.encode_argument(argument, action))


def weight_of(step: Step) -> Known:
    """The estimated nanoseconds of a step, at most `MAX_WEIGHT` unless it is an expression."""
    weight = (step.flops + step.bytes_accessed * FLOPS_PER_BYTE) // FLOPS_PER_NANOSECOND
    if not isinstance(weight, int) and has_opaque_part(weight):
        weight = MAX_WEIGHT  # only the division of work among threads depends on it
    return min(weight, MAX_WEIGHT) if isinstance(weight, int) else weight


@phase("plan")
def encode_program(program: Program, plan: MemoryPlan) -> Encoding:
    """Encodes a program; the records of actions that Python executes are zeros."""
    encoding = Encoding(plan, local=program.local_symbols)
    for _ in range(RECORD_SLOTS * len(program.actions)):
        encoding.append(0)
    counts = [len(action.args) if isinstance(action, Step) else 0 for action in program.actions]
    encoding.argument_starts += accumulate(counts[:-1], initial=len(encoding.values))
    for i, action in enumerate(program.actions):
        if isinstance(action, Step):
            encoding.encode_record(i, action)
    for tensor in (*program.inputs.values(), *program.outputs.values()):
        if tensor is not None and tensor.buffer.role in ("input", "output"):
            encoding.base_index(tensor.buffer)
    return encoding


def arena_slot_symbol(slot: int) -> Known:
    """The symbol for the offset of an arena slot, whose value the size function computes."""
    return symbol(f"slot {slot}")

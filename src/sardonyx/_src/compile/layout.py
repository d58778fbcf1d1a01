"""A program as words of 8 bytes, which the runner of tapes reads: one record an action, then the arguments.

A word is a number, or an address: a base that the process chooses, and a distance from it.  Numbers and distances that
depend on sizes of inputs are expressions, worked out by the program's own compiled code (`sizes`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from sardonyx._src.compile.plan import Plan
from sardonyx._src.compile.pool_words import ARGS, FLAG, JUMP, KERNEL, RECORD, UNITS, WEIGHT
from sardonyx._src.compile.program import Program
from sardonyx._src.compile.step import Arg, Kernel, Step
from sardonyx._src.compile.tensor import Storage, Tensor, width
from sardonyx._src.ir.dims import Known, symbol

PLAIN, ARENA, WORDS, STATUS = 0, 1, 2, 3  # bases that every program has
HEAVIEST = 1 << 60  # of weights that are numbers: they have to fit into a word
PACE, SLOWER = 50, 4  # operations in a nanosecond, and how many of them a byte takes: nominal, to weigh steps
Base: TypeAlias = "Storage | Kernel"


@dataclass(slots=True)
class Layout:
    """values[i] is the number, or the distance from the base `bases[i]`, of word i.

    others: bases besides the common four, in the order of their numbers.  uses: for each storage of a caller's, the
    words that point into it.  scratch: bytes that a thread needs, for each step that needs any.
    """

    plan: Plan
    values: list[Known] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)
    others: dict[Base, int] = field(default_factory=dict)
    scratch: list[Known] = field(default_factory=list)

    def base(self, of: Base) -> int:
        return self.others.setdefault(of, len(self.others) + STATUS + 1)

    def add(self, value: Known, base: int = PLAIN) -> None:
        self.values.append(value)
        self.bases.append(base)

    def put(self, at: int, value: Known, base: int = PLAIN) -> None:
        self.values[at], self.bases[at] = value, base

    def word(self, arg: Arg) -> tuple[Known, int]:
        """The value and the base of a number, or of the address of a tensor's first element."""
        if not isinstance(arg, Tensor):
            return arg, PLAIN
        distance = arg.offset * width(arg.dtype)
        storage = arg.storage
        match storage.role:
            case "arena":
                return distance + self.start(storage), ARENA
            case "status":
                return distance, STATUS
        return distance, self.base(storage)

    def start(self, storage: Storage) -> Known:
        """Where a storage begins in the arena."""
        slot = self.plan.slot_of.get(storage)
        return self.plan.offsets[storage] if slot is None else slot_symbol(slot)

    def record(self, at: int, step: Step) -> None:
        """Fills in a step's record, whose arguments come next."""
        self.put(at + KERNEL, 0, self.base(step.kernel))
        self.put(at + ARGS, 8 * len(self.values), WORDS)
        self.put(at + UNITS, step.units)
        weight = (step.flops + step.traffic * SLOWER) // PACE
        self.put(at + WEIGHT, min(weight, HEAVIEST) if isinstance(weight, int) else weight)
        if step.scratch != 0:
            self.scratch.append(step.scratch)
        if step.jump is not None:
            self.put(at + JUMP, step.jump.distance)
            self.put(at + FLAG, *self.word(step.jump.flag))
        for arg in step.args:
            self.add(*self.word(arg))


def laid_out(program: Program, plan: Plan) -> Layout:
    """The words of a program; records of actions of the host are zeros."""
    layout = Layout(plan)
    for _ in range(RECORD * len(program.actions)):
        layout.add(0)
    for i, action in enumerate(program.actions):
        if isinstance(action, Step):
            layout.record(i * RECORD, action)
    for tensor in (*program.inputs.values(), *program.outputs.values()):
        if tensor is not None and tensor.storage.role in ("input", "output"):
            layout.base(tensor.storage)
    return layout


def slot_symbol(slot: int) -> Known:
    """Where a slot of the arena begins."""
    return symbol(f"slot {slot}")

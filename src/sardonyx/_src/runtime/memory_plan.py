"""What memory the runs of a compiled program take, and what takes it where it is most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from sardonyx._src.compile import sizes as sizes_of
from sardonyx._src.compile.layout import Layout
from sardonyx._src.compile.plan import Interval, Plan
from sardonyx._src.compile.program import Action, Collect, HostCall, Program, Upload
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.errors import InputError


@dataclass(frozen=True, slots=True)
class Held:
    """Memory of the arena that is needed from one step of a program to another: `bytes` for the value of that name."""

    name: str
    bytes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes that a run takes beside its feeds and outputs.

    arena: for values between steps, of each run that goes on at a time.  peak: of it, what is needed at step `at`,
    where that is most; `held` is that, the largest first.  weights: constants, for all runs.  scratch: of all threads
    of a run.
    """

    arena: int
    peak: int
    at: int
    node: str
    held: tuple[Held, ...]
    weights: int
    scratch: int

    def as_json(self) -> dict[str, object]:
        """The plan as numbers, texts, lists and dicts."""
        return {**asdict(self), "held": [asdict(one) for one in self.held]}

    def __str__(self) -> str:
        head = (
            f"arena {amount(self.arena)}, weights {amount(self.weights)}, scratch {amount(self.scratch)}",
            f"at the peak, step {self.at} ({self.node}), {amount(self.peak)} are held:",
        )
        lines = (f"{amount(one.bytes):>10}  {one.first:4} to {one.last:4}  {one.name}" for one in self.held)
        return "\n".join((*head, *lines))


def memory_plan(
    program: Program, plan: Plan, layout: Layout, threads: int, lengths: Mapping[str, int]
) -> MemoryPlan:
    """The plan for runs of these lengths, by the names of dimension variables.

    Raises InputError for a length that is missing, unknown or negative, and for lengths that do not go together.
    """
    known = checked(program, lengths)
    _, arena, scratch, faults = sizes_of.worked_out(program, layout, list(known.values()))
    if faults:
        raise InputError(f"no run has the lengths {known}", name="lengths")
    sized = [held(one, known) for one in plan.holdings]
    totals = [
        sum(one.bytes for one in sized if one.first <= i <= one.last) for i in range(len(program.actions))
    ]
    peak = max(totals, default=0)
    at = totals.index(peak) if totals else 0
    there = [one for one in sized if one.first <= at <= one.last]
    node = title(program.actions[at]) if program.actions else ""
    largest = sorted(there, key=lambda one: -one.bytes)
    return MemoryPlan(arena, peak, at, node, tuple(largest), weights(program), scratch * threads)


def checked(program: Program, lengths: Mapping[str, int]) -> dict[str, int]:
    """The lengths in the program's order."""
    for name, length in lengths.items():
        if name not in program.sizes:
            there = ", ".join(map(repr, program.sizes)) or "none"
            raise InputError(f"the model has no dimension {name!r}; it has {there}", name=name)
        if length < 0:
            raise InputError(f"dimension {name!r} is {length}", name=name)
    missing = [name for name in program.sizes if name not in lengths]
    if missing:
        raise InputError(f"no length for dimension {missing[0]!r}", name=missing[0])
    return {name: int(lengths[name]) for name in program.sizes}


def held(one: Interval, known: dict[str, int]) -> Held:
    size = max(sizes_of.number(one.storage.size, known), 0)
    return Held(one.storage.name, size, one.first, one.last)


def weights(program: Program) -> int:
    """Bytes of the constants that steps read, each counted once."""
    found = {arg.storage for step in program.steps for arg in step.args if isinstance(arg, Tensor)}
    return sum(storage.content.nbytes for storage in found if storage.content is not None)


def title(action: Action) -> str:
    """The nodes that an action stands for."""
    match action:
        case Step():
            return "+".join(dict.fromkeys(action.nodes))
        case HostCall():
            return action.node.name or action.node.op_type
        case Upload():
            return action.value.name
        case Collect():
            return "+".join(value.name for value in action.buffers)


def amount(size: float) -> str:
    """Bytes that a person reads at a glance."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("the loop has answered")

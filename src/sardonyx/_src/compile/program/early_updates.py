"""Early updates: new states are computed as soon as what they depend on is.

Optimizers come last in a training step, when most gradients have left the caches, and all of them are in memory at once.  An update right after
its gradient finds it in the cache, and the memory of the gradient is free again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.program.program import Action, Program
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import Buffer

MAX_SMALL_BYTES = 4096  # of what a step accesses that is executed at the beginning if it reads inputs alone


def advance_updates(program: Program) -> Program:
    """The program with its updates in their earliest places; itself if it has jumps, or Python executes a part of it."""
    steps = [action for action in program.actions if isinstance(action, Step)]
    if len(steps) < len(program.actions) or any(step.jump is not None for step in steps):
        return program
    return replace(program, actions=order_steps(steps))


def order_steps(steps: Sequence[Step]) -> list[Action]:
    """The steps in their order, but for updates: these follow the last step that they depend on."""
    written: dict[Buffer, int] = {}  # the place after the last step that writes a buffer
    used: dict[Buffer, int] = {}  # the place after the last step that reads or writes it
    places: list[tuple[int, int]] = []
    for number, step in enumerate(steps):
        reads, writes = ({tensor.buffer for tensor in tensors} for tensors in (step.reads, step.writes))
        place = number
        if is_update(step):
            before = (*(written.get(b, 0) for b in reads), *(used.get(b, 0) for b in writes))
            place = max(before, default=0)
        places.append((place, number))
        written.update((buffer, place + 1) for buffer in writes)
        used.update((buffer, max(place + 1, used.get(buffer, 0))) for buffer in reads | writes)
    # Of one place, the step that has always been there comes last: the others depend on what comes before it.
    order = sorted(places, key=lambda p: (p[0], p[0] == p[1], p[1]))
    return [steps[number] for _, number in order]


def is_update(step: Step) -> bool:
    """Whether a step computes a new state, an output like an input that it reads, from a result of other steps, or is small."""
    states = {(t.dtype, t.shape) for t in step.reads if t.buffer.role == "input"}
    if not any(t.buffer.role == "output" and (t.dtype, t.shape) in states for t in step.writes):
        return False
    is_small = isinstance(step.bytes_accessed, int) and step.bytes_accessed <= MAX_SMALL_BYTES
    return is_small or any(t.buffer.role == "arena" for t in step.reads)

"""Early updates: a training step updates each state right after its gradient has been computed.

In the order of the model, optimizers come last, when all gradients are in memory and most have left the caches.  An
update right after its gradient finds it in the cache, and then frees its memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.program import Buffer, Step
from sardonyx._src.compile.program.steps.program import Action, Program

MAX_SMALL_BYTES = 4096  # accessed by an update that may move to the beginning, since it reads inputs only


def advance_updates(program: Program) -> Program:
    """The program with each update as early as possible; unchanged if it has jumps, or Python executes a part of it."""
    steps = [action for action in program.actions if isinstance(action, Step)]
    if len(steps) < len(program.actions) or any(step.jump is not None for step in steps):
        return program
    return replace(program, actions=order_steps(steps))


def order_steps(steps: Sequence[Step]) -> list[Action]:
    """The steps in their order, except that each update follows the last step that it depends on."""
    written: dict[Buffer, int] = {}  # the position after the last step that writes a buffer
    used: dict[Buffer, int] = {}  # the position after the last step that reads or writes it
    positions: list[tuple[int, int]] = []
    for number, step in enumerate(steps):
        reads, writes = ({tensor.buffer for tensor in tensors} for tensors in (step.reads, step.writes))
        position = number
        if is_update(step):
            before = (*(written.get(b, 0) for b in reads), *(used.get(b, 0) for b in writes))
            position = max(before, default=0)
        positions.append((position, number))
        written.update((buffer, position + 1) for buffer in writes)
        used.update((buffer, max(position + 1, used.get(buffer, 0))) for buffer in reads | writes)
    # At one position, the step that was there before comes last: the updates depend on earlier steps only.
    order = sorted(positions, key=lambda p: (p[0], p[0] == p[1], p[1]))
    return [steps[number] for _, number in order]


def is_update(step: Step) -> bool:
    """Whether a step computes a new state, that is, an output with the type and dims of an input that it reads.

    It must also read a result of other steps, or be small.
    """
    states = {(t.dtype, t.shape) for t in step.reads if t.buffer.role == "input"}
    if not any(t.buffer.role == "output" and (t.dtype, t.shape) in states for t in step.writes):
        return False
    is_small = isinstance(step.bytes_accessed, int) and step.bytes_accessed <= MAX_SMALL_BYTES
    return is_small or any(t.buffer.role == "arena" for t in step.reads)

"""Loop-invariant steps, such as the packing of weights, are executed once before the loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from sardonyx._src.compile.program import Buffer, Step
from sardonyx._src.compile.program.steps.program import depends_on, local_symbols
from sardonyx._src.compile.program.steps.step import sizes_of


def split_invariant_steps(
    steps: Sequence[Step], varying: Collection[Buffer]
) -> tuple[list[Step], list[Step]]:
    """The steps to execute before the loop, and the steps of an iteration.

    varying: buffers that the loop writes besides the results of these steps.

    A step is invariant if the loop writes nothing that the step reads, binds no size that it depends on, and no other
    step writes its results.  These must lie in the arena, where no one outside the run sees them: a loop without
    iterations executes such a step too, and leaves outputs, states and constants as they are.  A body with jumps is not
    changed, since removing a step would make distances of jumps wrong.
    """
    if any(step.jump is not None for step in steps):
        return [], [*steps]
    local = local_symbols(steps)
    writes_in_loop = Counter([*varying, *(buffer for step in steps for buffer in written_buffers(step))])
    invariant: list[Step] = []
    for step in steps:
        results = written_buffers(step)
        if local and any(depends_on(size, local) for size in sizes_of(step)):
            continue
        if not any(writes_in_loop[tensor.buffer] for tensor in step.reads) and all(
            buffer.role == "arena" and writes_in_loop[buffer] == 1 for buffer in results
        ):
            invariant.append(step)
            writes_in_loop.subtract(results)
    hoisted = set(map(id, invariant))
    return invariant, [step for step in steps if id(step) not in hoisted]


def written_buffers(step: Step) -> set[Buffer]:
    """The buffers that a step writes."""
    return {tensor.buffer for tensor in step.writes}

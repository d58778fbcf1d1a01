"""The goal for the memory of activations, as `checkpointing` states it, in the metadata of a model.

The native engine meets the goal by recomputation (docs/glossary.md): it keeps fewer results for the backward pass.
"""

from __future__ import annotations

from sardonyx._src.arguments import require_integer
from sardonyx._src.compile.program.memory.recomputation import METADATA_KEY, MemoryGoal, goal_of
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Model


def check_goal(goal: MemoryGoal | None) -> None:
    """Raises InputError or TypeError unless the goal is "auto", a number of bytes or None."""
    if isinstance(goal, str):
        if goal != "auto":
            raise InputError(
                f"checkpointing must be 'auto', a number of bytes or None; got {goal!r}", name="checkpointing"
            )
    else:
        require_integer("checkpointing", goal, 1, optional=True)


def write_goal(model: Model, goal: MemoryGoal | None) -> None:
    """Adds a goal to the metadata of a model; None leaves the metadata unchanged."""
    if goal is not None:
        model.metadata[METADATA_KEY] = goal if isinstance(goal, str) else str(int(goal))


def read_goal(model: Model) -> MemoryGoal | None:
    """The goal in the metadata of a model."""
    return goal_of(model.metadata)

"""The record that a run with all checks leaves for the fast path, which calls fallback operations directly."""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias

from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.dataclass import dataclass
from sardonyx._src.interp.run_state import Frame
from sardonyx._src.ir import Value

# The shape of an array; or the length of a sequence, then the shapes of its arrays.  Both are checked against the model's
# declarations.  None for other values.
ValueShape: TypeAlias = "tuple[int | tuple[int, ...], ...] | None"


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The record of the last run with all checks.

    shapes: the shapes of the inputs and outputs that kernels neither read nor write.
    frame: an empty frame with the limits and random numbers of the session; None before the first run.
    """

    shapes: dict[Value, ValueShape] = field(default_factory=dict)
    frame: Frame | None = None


class ChangedResult(Exception):
    """A kernel failed, or a result has another shape or type than recorded: a run with all checks must start over."""


def python_inputs(program: Program) -> list[Value]:
    """The inputs that no kernel step reads."""
    return [value for value in program.model.graph.inputs if value not in program.inputs]

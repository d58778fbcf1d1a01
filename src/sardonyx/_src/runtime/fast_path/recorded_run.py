"""What a run with all checks records for runs on the fast path, which call fallback operations directly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from sardonyx._src.interp.run_state import Frame
from sardonyx._src.ir.graph import Value

# Of an array, its shape; of a sequence, its length and the shapes of its arrays, which are compared with what a model declares.
ValueShape: TypeAlias = "tuple[int | tuple[int, ...], ...] | None"


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The last run with all checks.

    shapes: of the inputs and outputs that are no tensors of kernels.
    frame: has the limits and random numbers of the session; None before the first run.
    """

    shapes: dict[Value, ValueShape] = field(default_factory=dict)
    frame: Frame | None = None

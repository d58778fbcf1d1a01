"""Executable: what the compiler returns for a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sardonyx._src.compile.program.memory.arena import MemoryPlan
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import CompilationError

if TYPE_CHECKING:
    from sardonyx._src.compile.program.encoding.encoding import Encoding


@dataclass(frozen=True, slots=True)
class Executable:
    """A compiled program, with the plan of its memory and its encoding for the executor.

    defects: failures of the compiler, because of which reference kernels compute a part of the model, or a
        pass was left out.
    """

    program: Program
    plan: MemoryPlan
    encoding: Encoding
    defects: tuple[CompilationError, ...] = ()

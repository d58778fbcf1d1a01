"""Steps compiled for another vector width than the processor's."""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.program import Kernel, Step


def with_lanes(step: Step, lanes: int) -> Step:
    """The step compiled for vectors of this many floats, which may be wider than the processor's."""
    kernel = step.kernel

    def source(name: str, target: Target) -> str:
        return kernel.source(name, replace(target, lanes=lanes))

    return replace(step, kernel=Kernel(f"{kernel.key}:{lanes}", source))

"""Steps compiled for vectors of another width than those of the processor."""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.step import Kernel, Step


def with_lanes(step: Step, lanes: int) -> Step:
    """The step with vectors of so many floats, of which the processor may have narrower ones."""
    kernel = step.kernel

    def source(name: str, target: Target) -> str:
        return kernel.source(name, replace(target, lanes=lanes))

    return replace(step, kernel=Kernel(f"{kernel.key}:{lanes}", source))

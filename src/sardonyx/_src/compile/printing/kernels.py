"""Printers of kernels: their keys and parameters, and their LLVM text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.program.steps.program import Program


def format_kernels(program: Program) -> Iterator[str]:
    """A line for each distinct kernel: its number of steps, its key, and the parameters that it declares."""
    counts = Counter(step.kernel.key for step in program.steps)
    for i, kernel in enumerate(program.kernels):
        count, names = counts[kernel.key], ", ".join(kernel.parameters.names)
        parameters = f" ({names})" if names else ""
        yield f"{i:4} {count:4} step{'s' if count > 1 else ' '}  {kernel.key}{parameters}"


def format_llvm(program: Program, target: Target) -> Iterator[str]:
    """The LLVM text of every kernel, before optimization."""
    for i, kernel in enumerate(program.kernels):
        yield f"; {kernel.key}"
        yield kernel.source(f"kernel_{i}", target)
        yield ""

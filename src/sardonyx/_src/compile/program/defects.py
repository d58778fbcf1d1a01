"""Defects of the compiler: the untyped exceptions that mean a bug, and the nodes that they concern."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sardonyx._src.errors import CompilationError, are_defects_fatal, typed_memory_errors
from sardonyx._src.ir.graph import Node
from sardonyx._src.ir.walk import location

DEFECTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    LookupError,
    RuntimeError,  # RecursionError and what llvmlite raises included
    TypeError,
    ValueError,
    struct.error,
)


class RefusedRegions(Exception):
    """Regions that cannot be compiled: reference kernels have to compute their nodes.

    nodes: the nodes at which no matcher may be tried.  defects: those that a defect of the compiler is to blame for, with
    the exception that it raised.
    """

    def __init__(self, nodes: frozenset[Node], stage: str, defects: Mapping[Node, Exception]) -> None:
        super().__init__(f"{stage}: {len(nodes)} nodes are refused")
        self.nodes, self.stage, self.defects = nodes, stage, defects

    def errors(self) -> list[CompilationError]:
        """An error for each defect, with the node's location in the prepared model."""
        return [
            CompilationError.of(defect, stage=self.stage, location=location(node))
            for node, defect in self.defects.items()
        ]


@contextmanager
def typed_defects(stage: str, *further: type[Exception]) -> Iterator[None]:
    """Converts untyped exceptions in the block, and those of `further` types, to CompilationError, unless they are to be
    fatal; a MemoryError, which is no defect, becomes a LimitError."""
    kinds: tuple[type[Exception], ...] = (*DEFECTS, *further)
    try:
        with typed_memory_errors(stage):
            yield
    except kinds as defect:
        if are_defects_fatal():
            raise
        raise CompilationError.of(defect, stage=stage) from defect

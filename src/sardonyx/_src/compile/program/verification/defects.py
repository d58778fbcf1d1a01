"""Defects of the compiler: the untyped exceptions that mean a bug, and the nodes that they concern."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sardonyx._src.errors import CompilationError, are_defects_fatal, typed_memory_errors
from sardonyx._src.ir import Node
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
    """Raised for regions that cannot be compiled, so that compilation is repeated with their nodes as fallbacks.

    nodes: the nodes at which no matcher may be tried then.
    defects: the nodes at which the compiler failed, each with the exception.
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
def typed_defects(stage: str, *other_types: type[Exception]) -> Iterator[None]:
    """Converts untyped exceptions in the block, and those of `other_types`, to CompilationError.

    Defects that are to be fatal (`are_defects_fatal`) are raised as they are.  A MemoryError, which is no defect,
    becomes a LimitError.
    """
    kinds: tuple[type[Exception], ...] = (*DEFECTS, *other_types)
    try:
        with typed_memory_errors(stage):
            yield
    except kinds as defect:
        if are_defects_fatal():
            raise
        raise CompilationError.of(defect, stage=stage) from defect

"""What a library cannot run: everything that a session leaves to Python."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.steps.program import (
    BindSizes,
    CollectScanOutputs,
    FallbackOp,
    Program,
)
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Node

MAX_LISTED = 20  # nodes in a message


def require_kernels(program: Program) -> None:
    """Raises InputError unless the program consists of kernel steps over sizes that are numbers."""
    reasons = [*dict.fromkeys(refusals(program))]
    if not reasons:
        return
    listed = "; ".join(reasons[:MAX_LISTED])
    more = f"; and {len(reasons) - MAX_LISTED} more" if len(reasons) > MAX_LISTED else ""
    parameters = ", ".join(map(repr, program.parameters))
    cure = f"; inputs that are parameters may be constants of the library: {parameters}" if parameters else ""
    raise InputError(
        f"the nodes of a library must have kernels and fixed sizes; got {listed}{more}{cure}", name="model"
    )


def refusals(program: Program) -> Iterator[str]:
    """The nodes that Python executes, and the values whose sizes or parts only Python can bind."""
    for action in program.actions:
        match action:
            case Step():
                continue
            case FallbackOp(node=node):
                yield f"{describe(node)} has no kernel for these types and sizes"
            case BindSizes(value=value):
                yield f"the sizes of {value.name!r} depend on elements"
            case CollectScanOutputs(buffers=buffers):
                names = ", ".join(repr(value.name) for value in buffers)
                yield f"the scan outputs {names} of a loop have no bound"
    for name in program.sizes:
        yield f"the size {name} depends on an element of an input"


def describe(node: Node) -> str:
    return f"node {node.name!r} ({node.op_type})" if node.name else f"a node {node.op_type}"

"""Verifier of sizes and values: asserts that each action uses only sizes that are bound, and Python values that exist, before it.

A buffer gets its address once its size, and the sizes of the buffers before it in the arena, are bound, and keeps it
until the run ends.  Elements that are written before that would be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.compile.program.steps.program import (
    Action,
    BindSizes,
    CollectScanOutputs,
    CopyIn,
    FallbackOp,
    Program,
)
from sardonyx._src.compile.program.steps.step import LocalSizes
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Expr


def verify_bindings(program: Program, describe: Callable[[int], str]) -> None:
    """Asserts that the sizes and values that each action uses exist before it.

    describe: describes an action, given its index, for messages.
    """
    bound, held = set(program.sizes), set[Value]()
    for i, action in enumerate(program.actions):
        for what, name, size in expressions_used(action):
            assert size.symbols() <= bound, (
                f"{describe(i)} uses {what}{name}, {size}, before {sorted(size.symbols() - bound)} are bound"
            )
        if (value := value_read(action)) is not None:
            is_held = value.producer is None or value in held
            assert is_held, f"{describe(i)} reads {value.name}, which has no value"
        match action:
            case FallbackOp():
                held.update(action.node.outputs)
            case CollectScanOutputs():
                held.update(action.buffers)
            case BindSizes():
                bound.update(action.symbols.values())
            case Step(binds=LocalSizes(limits=limits)):
                bound.update(limits)


def value_read(action: Action) -> Value | None:
    """The value in Python whose sizes or elements an action reads; None if it reads none."""
    match action:
        case CopyIn() | BindSizes(count=None):
            return action.value
    return None


def expressions_used(action: Action) -> Iterator[tuple[str, str, Expr]]:
    """The symbolic sizes that an action depends on; each with what it is and the name of its buffer, for messages."""
    tensors = {id(tensor): tensor for tensor in (*action.reads, *action.writes)}
    if isinstance(action, Step):
        for what, size in (("the units", action.units), ("the scratch size", action.scratch)):
            if isinstance(size, Expr):
                yield what, "", size
        for argument in action.args:
            if isinstance(argument, TensorView):
                tensors[id(argument)] = argument
            elif isinstance(argument, Expr):
                yield "the argument", "", argument
    for tensor in tensors.values():
        if isinstance(tensor.buffer.size, Expr):
            yield "the size of ", tensor.buffer.name, tensor.buffer.size
        for size in (*tensor.shape, *tensor.strides, tensor.offset):
            if isinstance(size, Expr):
                yield "a dim, stride or offset of ", tensor.buffer.name, size

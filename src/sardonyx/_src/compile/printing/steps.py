"""Printer of steps: the actions of a program, with the tensors and arguments of each."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sardonyx._src.compile.partition.regions.region import name_of
from sardonyx._src.compile.printing.fallbacks import fallback_reason
from sardonyx._src.compile.printing.formatter import ProgramFormatter
from sardonyx._src.compile.program import Kernel, Step
from sardonyx._src.compile.program.steps.program import Action, BindSizes, CopyIn, FallbackOp, Program
from sardonyx._src.ir import Model


def format_steps(program: Program, formatter: ProgramFormatter) -> Iterator[str]:
    """A line per action: its kind, the nodes that it is attributed to, inputs and outputs, and cost.

    The arguments of a kernel are on a line of their own.
    """
    kinds = [action_kind(action) for action in program.actions]
    width = max((len(kind) for kind in kinds), default=0)
    for i, (action, kind) in enumerate(zip(program.actions, kinds, strict=True)):
        yield f"{i:4} {kind:{width}}  {format_action(action, program.model, formatter)}{format_jump(action, i)}"
        if isinstance(action, Step):
            yield f"     {format_arguments(action, formatter)}"


def action_kind(action: Action) -> str:
    match action:
        case Step():
            return kernel_name(action.kernel)
        case FallbackOp():
            return f"fallback {action.node.op_type}"
        case CopyIn():
            return "copy in"
        case BindSizes():
            return "bind sizes"
    return "collect"


def kernel_name(kernel: Kernel) -> str:
    """The name of a kernel without its types and its epilogue."""
    return re.split(r"[ :]", kernel.key, maxsplit=1)[0]


def format_action(action: Action, model: Model, formatter: ProgramFormatter) -> str:
    match action:
        case Step():
            return (
                f"{action_name(action)}: {format_operands(action, formatter)}{format_cost(action, formatter)}"
            )
        case FallbackOp():
            return f"{name_of(action.node)}: {fallback_reason(action.node, model)}"
        case CopyIn():
            return f"{action.value.name}: {formatter.format_tensor(action.tensor)}"
        case BindSizes():
            return str(action)
    return f"{action_name(action)}: {', '.join(map(formatter.format_tensor, action.buffers.values()))}"


def action_name(action: Action) -> str:
    """The nodes, or values, that an action is attributed to."""
    match action:
        case Step():
            return "+".join(dict.fromkeys(action.nodes))
        case FallbackOp():
            return name_of(action.node)
        case CopyIn() | BindSizes():
            return action.value.name
    return "+".join(value.name for value in action.buffers)


def format_operands(step: Step, formatter: ProgramFormatter) -> str:
    """The tensors read and written, without the status block."""
    read, written = (
        ", ".join(formatter.format_tensor(t) for t in tensors if t.buffer.role != "status")
        for tensors in (step.reads, step.writes)
    )
    return f"{read} -> {written}" if read else f"-> {written}"


def format_arguments(step: Step, formatter: ProgramFormatter) -> str:
    """The arguments of a kernel, with the names that it declares, or else with the numbers of their slots."""
    names = step.kernel.parameters.slot_names(len(step.args)) or tuple(map(str, range(len(step.args))))
    arguments = zip(names, step.args, strict=True)
    return f"({', '.join(f'{name}={formatter.format_argument(argument)}' for name, argument in arguments)})"


def format_jump(action: Action, index: int) -> str:
    """The number of the action that a jump continues with."""
    if not isinstance(action, Step) or action.jump is None:
        return ""
    return f"; if {action.jump.flag.buffer.name or 'constant'}: continue at {index + action.jump.distance}"


def format_cost(step: Step, formatter: ProgramFormatter) -> str:
    pairs = ((step.flops, "FLOP"), (step.bytes_accessed, "B"))
    return "".join(f"; {formatter.format_amount(number, unit)}" for number, unit in pairs if number != 0)

"""Printers of compiled programs for `run --show` and profiles: steps, loops, memory plan and LLVM text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.lower.registry import facet_of
from sardonyx._src.compile.program.memory_plan import MemoryPlan
from sardonyx._src.compile.program.program import Action, CopyIn, FallbackOp, Program
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import Buffer, TensorView
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.types import TensorType, shape_text
from sardonyx._src.ops.bind import schema_of

SUBEXPRESSION = re.compile(
    r"(?<![\w.])(\d+)(?![\w.])"
)  # reference to an earlier line of an elementwise kernel's key
CONSTANT_SUFFIX = re.compile(r"(?<=[\w.])n(?=[,)?:]|$)")  # marks a constant in an elementwise kernel's key


@dataclass(frozen=True, slots=True)
class ProgramFormatter:
    """Formats dims and tensors, with `lengths` substituted for dimension variables."""

    lengths: Mapping[str, int] = field(default_factory=dict)

    def substitute(self, dim: Known) -> Known:
        """The dim after substitution."""
        value = dim.substitute(self.lengths) if isinstance(dim, Expr) else dim
        return dim if value is None else value

    def format_shape(self, shape: Sequence[Known]) -> str:
        return shape_text(tuple(self.substitute(dim) for dim in shape))

    def format_tensor(self, tensor: TensorView) -> str:
        name = tensor.buffer.name if tensor.buffer.role != "constant" else ""
        return f"{name or tensor.buffer.role}{self.format_shape(tensor.shape)}"

    def format_amount(self, number: Known, unit: str) -> str:
        """A number with a unit prefix; an expression in full."""
        value = self.substitute(number)
        return f"{value} {unit}" if not isinstance(value, int) else format_quantity(value, unit)


def format_quantity(number: float, unit: str) -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{number / factor:.1f} {prefix}{unit}"
    return f"{number:.0f} {unit}"


# --- steps -----------------------------------------------------------------------------------


def format_steps(program: Program, formatter: ProgramFormatter) -> Iterator[str]:
    """A line per action: its kind, the nodes that it is attributed to, inputs and outputs, and cost."""
    kinds = [action_kind(action) for action in program.actions]
    width = max((len(kind) for kind in kinds), default=0)
    for i, (action, kind) in enumerate(zip(program.actions, kinds, strict=True)):
        yield f"{i:4} {kind:{width}}  {format_action(action, program.model, formatter)}"


def action_kind(action: Action) -> str:
    match action:
        case Step():
            return kernel_name(action.kernel)
        case FallbackOp():
            return f"fallback {action.node.op_type}"
        case CopyIn():
            return "copy in"
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
            return f"{node_name(action.node)}: {fallback_reason(action.node, model)}"
        case CopyIn():
            return f"{action.value.name}: {formatter.format_tensor(action.tensor)}"
    return f"{action_name(action)}: {', '.join(map(formatter.format_tensor, action.buffers.values()))}"


def action_name(action: Action) -> str:
    """The nodes, or values, that an action is attributed to."""
    match action:
        case Step():
            return "+".join(dict.fromkeys(action.nodes))
        case FallbackOp():
            return node_name(action.node)
        case CopyIn():
            return action.value.name
    return "+".join(value.name for value in action.buffers)


def node_name(node: Node) -> str:
    return node.name or next((v.name for v in node.outputs if v.name), node.op_type)


def format_operands(step: Step, formatter: ProgramFormatter) -> str:
    """The tensors read and written, without the status block."""
    read, written = (
        ", ".join(formatter.format_tensor(t) for t in tensors if t.buffer.role != "status")
        for tensors in (step.reads, step.writes)
    )
    return f"{read} -> {written}" if read else f"-> {written}"


def format_cost(step: Step, formatter: ProgramFormatter) -> str:
    pairs = ((step.flops, "FLOP"), (step.bytes_accessed, "B"))
    return "".join(f"; {formatter.format_amount(number, unit)}" for number, unit in pairs if number != 0)


def fallback_reason(node: Node, model: Model) -> str:
    """Why a node is a fallback operation."""
    if (node.domain, node.op_type, node.overload) in model.functions:
        return "a function of the model"
    try:
        version = schema_of(node, model.opset_imports).since_version
    except SardonyxError as error:
        return str(error)
    if facet_of(node.domain, node.op_type, version) is None:
        return f"no native {node.op_type}-{version}"
    values = [v for v in (*node.inputs, *node.outputs) if v is not None and v.name]
    unknown = next((v for v in values if not has_known_dims(v)), None)
    if unknown is not None:
        return f"{unknown.name} is {unknown.type or 'of unknown type'}"
    return f"no native {node.op_type} of {', '.join(str(v.type or 'a constant') for v in values)}"


def has_known_dims(value: Value) -> bool:
    """Whether a value is a tensor whose dims are all constants or expressions."""
    if value.initializer is not None:
        return True
    type_ = value.type
    return isinstance(type_, TensorType) and type_.shape is not None and None not in type_.shape


# --- loops -----------------------------------------------------------------------------------


def format_loops(program: Program, formatter: ProgramFormatter) -> Iterator[str]:
    """The loop nest of each step: the statements of elementwise kernels, the arguments of others."""
    for i, action in enumerate(program.actions):
        yield f"{i:4} {action_kind(action)}  {action_name(action)}"
        if isinstance(action, Step):
            yield f"     {format_operands(action, formatter)}, units {formatter.substitute(action.units)}"
            yield from (f"       {text}" for text in format_loop_body(action, formatter))


def format_loop_body(step: Step, formatter: ProgramFormatter) -> Iterator[str]:
    if not step.kernel.key.startswith("elementwise/"):
        yield f"{step.kernel.key}({', '.join(format_argument(arg, formatter) for arg in step.args)})"
        return
    *lines, results = step.kernel.key.split(" ", 2)[2].split(";")
    yield f"for each of {formatter.format_shape(step.writes[0].shape)}:"
    for expression in lines:
        number, _, value = expression.partition("=")
        yield f"  t{number} = {format_expression(value)}"
    for i, result in enumerate(results.split(",")):
        yield f"  o{i} = {format_expression(result)}"


def format_expression(value: str) -> str:
    """An operation of an elementwise kernel's key, with references as names of statements."""
    return CONSTANT_SUFFIX.sub("", SUBEXPRESSION.sub(r"t\1", value)).replace(",", ", ")


def format_argument(arg: TensorView | Known, formatter: ProgramFormatter) -> str:
    return formatter.format_tensor(arg) if isinstance(arg, TensorView) else str(formatter.substitute(arg))


# --- memory and kernels ----------------------------------------------------------------------


def format_memory_plan(program: Program, plan: MemoryPlan, formatter: ProgramFormatter) -> Iterator[str]:
    """The size of the arena, and a line per buffer: live range in actions, slot or offset, size and name."""
    arena_size = f"{format_quantity(plan.size, 'B')}" if not plan.slots else f"{len(plan.slots)} slots"
    constant_bytes = sum(
        buffer.content.nbytes for buffer in constant_buffers(program) if buffer.content is not None
    )
    yield f"arena: {arena_size}, {len(plan.live_ranges)} buffers; constants: {format_quantity(constant_bytes, 'B')}"
    for live_range in plan.live_ranges:
        slot = plan.slot_of.get(live_range.buffer)
        slot_text = f"slot {slot}" if slot is not None else f"at {plan.offsets[live_range.buffer]}"
        size = formatter.format_amount(live_range.buffer.size, "B")
        yield f"{live_range.first:4} to {live_range.last:4}  {slot_text:>14}  {size:>12}  {live_range.buffer.name}"


def constant_buffers(program: Program) -> list[Buffer]:
    """The distinct constant buffers that steps read."""
    buffers = (a.buffer for step in program.steps for a in step.args if isinstance(a, TensorView))
    return list(dict.fromkeys(buffer for buffer in buffers if buffer.role == "constant"))


def distinct_kernels(program: Program) -> list[Kernel]:
    """The distinct kernels of the steps."""
    return list({step.kernel.key: step.kernel for step in program.steps}.values())


def format_llvm(program: Program, target: Target) -> Iterator[str]:
    """The LLVM text of every kernel, before optimization."""
    for i, kernel in enumerate(distinct_kernels(program)):
        yield f"; {kernel.key}"
        yield kernel.source(f"kernel_{i}", target)
        yield ""

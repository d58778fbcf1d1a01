"""Programs as text, for people: their steps, their loops, their memory, the text of their kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.plan import Plan
from sardonyx._src.compile.program import Action, HostCall, Program, Upload
from sardonyx._src.compile.registry import facet_of
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Storage, Tensor
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.ir.graph import Model, Node, Value
from sardonyx._src.ir.types import TensorType, shape_text
from sardonyx._src.ops.bind import schema_of

REFERENCE = re.compile(r"(?<![\w.])(\d+)(?![\w.])")  # to an earlier line of an elementwise kernel
NUMBER = re.compile(r"(?<=[\w.])n(?=[,)?:]|$)")  # what marks its constants


@dataclass(frozen=True, slots=True)
class Names:
    """How dims and tensors are written: with the lengths that are given in place of their symbols."""

    lengths: Mapping[str, int] = field(default_factory=dict)

    def dim(self, dim: Known) -> Known:
        """The dim as far as it is known."""
        found = dim.substitute(self.lengths) if isinstance(dim, Expr) else dim
        return dim if found is None else found

    def shape(self, shape: Sequence[Known]) -> str:
        return shape_text(tuple(self.dim(dim) for dim in shape))

    def tensor(self, tensor: Tensor) -> str:
        name = tensor.storage.name if tensor.storage.role != "constant" else ""
        return f"{name or tensor.storage.role}{self.shape(tensor.shape)}"

    def amount(self, number: Known, unit: str) -> str:
        """A number that a person reads at a glance; an expression in full."""
        found = self.dim(number)
        return f"{found} {unit}" if not isinstance(found, int) else quantity(found, unit)


def quantity(number: float, unit: str) -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{number / factor:.1f} {prefix}{unit}"
    return f"{number:.0f} {unit}"


# --- steps -----------------------------------------------------------------------------------


def steps(program: Program, names: Names) -> Iterator[str]:
    """A line for each action: what runs, in the name of which nodes, from what to what, and how much it is."""
    heads = [head(action) for action in program.actions]
    wide = max((len(one) for one in heads), default=0)
    for i, (action, one) in enumerate(zip(program.actions, heads, strict=True)):
        yield f"{i:4} {one:{wide}}  {line(action, program.model, names)}"


def head(action: Action) -> str:
    match action:
        case Step():
            return short(action.kernel)
        case HostCall():
            return f"host {action.node.op_type}"
        case Upload():
            return "upload"
    return "collect"


def short(kernel: Kernel) -> str:
    """The name of a kernel without its types and its tail."""
    return re.split(r"[ :]", kernel.key, maxsplit=1)[0]


def line(action: Action, model: Model, names: Names) -> str:
    match action:
        case Step():
            return f"{title(action)}: {sides(action, names)}{work(action, names)}"
        case HostCall():
            return f"{label(action.node)}: {reason(action.node, model)}"
        case Upload():
            return f"{action.value.name}: {names.tensor(action.tensor)}"
    return f"{title(action)}: {', '.join(map(names.tensor, action.buffers.values()))}"


def title(action: Action) -> str:
    """The nodes that an action stands for."""
    match action:
        case Step():
            return "+".join(dict.fromkeys(action.nodes))
        case HostCall():
            return label(action.node)
        case Upload():
            return action.value.name
    return "+".join(value.name for value in action.buffers)


def label(node: Node) -> str:
    return node.name or next((v.name for v in node.outputs if v.name), node.op_type)


def sides(step: Step, names: Names) -> str:
    """What is read and written, without the place where faults are noted."""
    read, written = (
        ", ".join(names.tensor(t) for t in tensors if t.storage.role != "status")
        for tensors in (step.reads, step.writes)
    )
    return f"{read} -> {written}" if read else f"-> {written}"


def work(step: Step, names: Names) -> str:
    pairs = ((step.flops, "FLOP"), (step.traffic, "B"))
    return "".join(f"; {names.amount(number, unit)}" for number, unit in pairs if number != 0)


def reason(node: Node, model: Model) -> str:
    """Why a node is run by its reference kernel."""
    if (node.domain, node.op_type, node.overload) in model.functions:
        return "a function of the model"
    try:
        version = schema_of(node, model.opset_imports).since_version
    except SardonyxError as error:
        return str(error)
    if facet_of(node.domain, node.op_type, version) is None:
        return f"no native {node.op_type}-{version}"
    values = [v for v in (*node.inputs, *node.outputs) if v is not None and v.name]
    unknown = next((v for v in values if not is_sized(v)), None)
    if unknown is not None:
        return f"{unknown.name} is {unknown.type or 'of unknown type'}"
    return f"no native {node.op_type} of {', '.join(str(v.type or 'a constant') for v in values)}"


def is_sized(value: Value) -> bool:
    """Whether it is a tensor all of whose dims are numbers or expressions."""
    if value.initializer is not None:
        return True
    found = value.type
    return isinstance(found, TensorType) and found.shape is not None and None not in found.shape


# --- loops -----------------------------------------------------------------------------------


def loops(program: Program, names: Names) -> Iterator[str]:
    """What each step computes: the statements of elementwise kernels, the arguments of others."""
    for i, action in enumerate(program.actions):
        yield f"{i:4} {head(action)}  {title(action)}"
        if isinstance(action, Step):
            yield f"     {sides(action, names)}, units {names.dim(action.units)}"
            yield from (f"       {one}" for one in body(action, names))


def body(step: Step, names: Names) -> Iterator[str]:
    if not step.kernel.key.startswith("elementwise/"):
        yield f"{step.kernel.key}({', '.join(argument(arg, names) for arg in step.args)})"
        return
    *lines, results = step.kernel.key.split(" ", 2)[2].split(";")
    yield f"for each of {names.shape(step.writes[0].shape)}:"
    for one in lines:
        number, _, value = one.partition("=")
        yield f"  t{number} = {readable(value)}"
    for i, result in enumerate(results.split(",")):
        yield f"  o{i} = {readable(result)}"


def readable(value: str) -> str:
    """An operation of an elementwise kernel's key, the lines that it refers to named."""
    return NUMBER.sub("", REFERENCE.sub(r"t\1", value)).replace(",", ", ")


def argument(arg: Tensor | Known, names: Names) -> str:
    return names.tensor(arg) if isinstance(arg, Tensor) else str(names.dim(arg))


# --- memory and kernels ----------------------------------------------------------------------


def memory(program: Program, plan: Plan, names: Names) -> Iterator[str]:
    """The arena, a line for each storage: its place, how large it is, and the actions for which it is needed."""
    sized = f"{quantity(plan.size, 'B')}" if not plan.slots else f"{len(plan.slots)} slots"
    weights = sum(storage.content.nbytes for storage in constants(program) if storage.content is not None)
    yield f"arena: {sized}, {len(plan.intervals)} storages; constants: {quantity(weights, 'B')}"
    for one in plan.intervals:
        slot = plan.slot_of.get(one.storage)
        place = f"slot {slot}" if slot is not None else f"at {plan.offsets[one.storage]}"
        size = names.amount(one.storage.size, "B")
        yield f"{one.first:4} to {one.last:4}  {place:>14}  {size:>12}  {one.storage.name}"


def constants(program: Program) -> list[Storage]:
    """The data of the program's own that its steps are given, each once."""
    found = (a.storage for step in program.steps for a in step.args if isinstance(a, Tensor))
    return list(dict.fromkeys(storage for storage in found if storage.role == "constant"))


def kernels(program: Program) -> list[Kernel]:
    """The kernels of the steps, each once."""
    return list({step.kernel.key: step.kernel for step in program.steps}.values())


def llvm(program: Program, target: Target) -> Iterator[str]:
    """The text of every kernel, before LLVM's own passes."""
    for i, kernel in enumerate(kernels(program)):
        yield f"; {kernel.key}"
        yield kernel.source(f"kernel_{i}", target)
        yield ""

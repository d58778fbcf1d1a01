"""Text of regions, layouts and steps for golden files: what a change of fusion, layouts or kernels changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass

from compile.stages import Stages
from sardonyx._src.compile.codegen.canonical_text import canonical_text
from sardonyx._src.compile.codegen.expressions import Apply, Cast, Select
from sardonyx._src.compile.layouts.laid_out import LayoutCopy, LayoutItem, SizeWrite
from sardonyx._src.compile.lower import LaidOutRegion
from sardonyx._src.compile.partition import FusedEpilogue, Read, Region, RegionGraph, Write
from sardonyx._src.compile.partition.partitioner.verify import subgraphs_of
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.compile.program.operands.tensor import channels_last_permutation
from sardonyx._src.compile.program.steps.program import Action, BindSizes, FallbackOp, Program
from sardonyx._src.ir.types import shape_text


def format_stages(stages: Stages) -> dict[str, str]:
    """The text of the regions, of the items with layouts, and of the steps with the size of the arena."""
    return {
        "regions": indent(format_regions(stages.regions)),
        "layouts": indent(format_items(stages.laid_out.items)),
        "steps": indent([*map(format_action, stages.program.actions), format_arena(stages)]),
    }


def indent(lines: Iterable[str]) -> str:
    return "".join(f"  {line}\n" for line in lines)


# --- regions ---------------------------------------------------------------------------------


def format_regions(graph: RegionGraph) -> Iterator[str]:
    for region in graph.regions:
        yield from format_region(region)
    for region in graph.scope.deferred.values():
        first, *rest = format_region(region)
        yield from (f"deferred {first}", *rest)


def format_region(region: Region[object]) -> Iterator[str]:
    """The kind and the nodes of a region, its expression, operands, results, epilogue and guards; its subgraphs."""
    yield f"{region.kind} {' + '.join(region.node_names)}"
    yield from (f"  {name} = {text}" for name, text in expressions_of(region.config))
    yield from format_ports("reads", region.reads)
    yield from format_ports("writes", region.writes)
    yield from (f"  view {alias.value.name} of {alias.source.name}" for alias in region.aliases)
    if region.epilogue is not None and region.epilogue.nodes:
        yield from format_epilogue(region.epilogue)
    yield from (f"  guard {guard}" for guard in region.guards)
    for body in subgraphs_of(region.config):
        yield "  subgraph"
        yield from (f"    {line}" for line in format_regions(body))


def expressions_of(config: object) -> Iterator[tuple[str, str]]:
    """The expressions among the fields of a config."""
    for field in fields(config) if is_dataclass(config) else ():
        value = getattr(config, field.name)
        values = value if isinstance(value, tuple) else (value,)
        if values and all(isinstance(part, Apply | Cast | Select) for part in values):
            yield field.name, canonical_text(values)


def format_ports(name: str, ports: Sequence[Read | Write]) -> Iterator[str]:
    """The values that a region reads or writes, with the layouts that it requests."""
    if ports:
        yield f"  {name} {', '.join(f'{port.value.name} ({port.layout})' for port in ports)}"


def format_epilogue(fused: FusedEpilogue) -> Iterator[str]:
    yield f"  epilogue {canonical_text([fused.epilogue.expression])} {', '.join(fused.epilogue.operand_layouts)}".rstrip()
    yield from format_ports("epilogue reads", fused.reads)


# --- layouts ---------------------------------------------------------------------------------


def format_items(items: Sequence[LayoutItem]) -> Iterator[str]:
    """The items of a graph or of a body, with the bodies after their region."""
    for item in items:
        yield format_item(item)
        for body in item.bodies if isinstance(item, LaidOutRegion) else ():
            yield f"  {body.name}"
            yield from (f"    {line}" for line in format_items(body.items))


def format_item(item: LayoutItem) -> str:
    """A region or a copy, with the tensors that it reads and writes."""
    match item:
        case LaidOutRegion():
            tensors = (*item.operands, *item.epilogue_operands)
            read, written = (", ".join(map(format_tensor, some)) for some in (tensors, item.results))
            return f"{item.region.kind}: {read} -> {written}"
        case LayoutCopy():
            return f"copy for {' + '.join(item.nodes)}: {format_tensor(item.source)} -> {format_tensor(item.target)}"
        case SizeWrite():
            return f"sizes {', '.join(map(str, item.sizes))} -> {format_tensor(item.target)}"
        case FallbackOp():
            return format_action(item)
        case BindSizes():
            return f"bind sizes of {item}"
    return f"copy in -> {', '.join(map(format_tensor, item.writes))}"


def format_tensor(tensor: TensorView) -> str:
    """The buffer and the dims of a tensor, with its layout unless it is dense."""
    name = tensor.buffer.name if tensor.buffer.role != "constant" else ""
    text = f"{name or tensor.buffer.role}{shape_text(tensor.shape)}"
    if tensor.is_dense:
        return text
    is_channels_last = tensor.permute(channels_last_permutation(tensor.rank)).row_stride is not None
    strides = "channels last" if is_channels_last else f"strides {', '.join(map(str, tensor.strides))}"
    return f"{text} {{{strides}}}" if tensor.offset == 0 else f"{text} {{{strides} from {tensor.offset}}}"


# --- steps -----------------------------------------------------------------------------------


def format_action(action: Action) -> str:
    """The kernel of a step without its types and its epilogue, its nodes, and the distance of its jump."""
    match action:
        case Step():
            kernel = re.split(r"[ :]", action.kernel.key, maxsplit=1)[0]
            jump = "" if action.jump is None else f", jumps by {action.jump.distance}"
            return f"{kernel} for {' + '.join(dict.fromkeys(action.nodes))}{jump}"
        case FallbackOp():
            return f"fallback {action.node.op_type}"
    return type(action).__name__


def format_arena(stages: Stages) -> str:
    """The bytes of the arena, or the number of its slots."""
    plan = stages.plan
    buffers = f"{len(plan.live_ranges)} buffers, {len(plan.alias_sets)} alias sets"
    return (
        f"arena: {len(plan.slots)} slots, {buffers}" if plan.slots else f"arena: {plan.size} bytes, {buffers}"
    )


def kernel_names(program: Program) -> list[str]:
    """The kernels of a program's steps, without types and epilogues."""
    return [format_action(step).partition(" for ")[0] for step in program.steps]

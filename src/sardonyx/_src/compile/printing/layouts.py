"""Printer of layouts: the tensors that each region reads and writes, and the copies between layouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.compile.layouts.assignment import resolve
from sardonyx._src.compile.layouts.laid_out import (
    LaidOutGraph,
    LaidOutRegion,
    LayoutCopy,
    LayoutItem,
    SizeWrite,
)
from sardonyx._src.compile.partition import Read, RegionGraph, Write
from sardonyx._src.compile.printing.fallbacks import fallback_reason
from sardonyx._src.compile.printing.formatter import ProgramFormatter
from sardonyx._src.compile.printing.regions import INDENT, ordered_regions
from sardonyx._src.compile.program import TensorView
from sardonyx._src.compile.program.operands.layout import ChannelsLast
from sardonyx._src.compile.program.steps.program import BindSizes, CopyIn, FallbackOp
from sardonyx._src.ir import Model, Node


def format_layouts(laid_out: LaidOutGraph, formatter: ProgramFormatter) -> Iterator[str]:
    """A line per region, with its number in the graph, and per copy, in order of execution.

    The bodies of control flow follow their region, indented.
    """
    return format_items(laid_out.graph, laid_out.items, formatter)


def format_items(
    graph: RegionGraph, items: Sequence[LayoutItem], formatter: ProgramFormatter
) -> Iterator[str]:
    """The lines of a graph or of a body."""
    numbers = {region.anchor: i for i, region in enumerate(ordered_regions(graph))}
    width = max((len(item_kind(item)) for item in items), default=0)
    for item in items:
        anchor = item_anchor(item)
        number = "" if anchor is None else str(numbers[anchor])
        yield f"{number:>4} {item_kind(item):{width}}  {format_item(item, graph.scope.model, formatter)}"
        for body in item.bodies if isinstance(item, LaidOutRegion) else ():
            yield f"{INDENT} {body.name}:"
            yield from (INDENT + line for line in format_items(body.graph, body.items, formatter))


def item_kind(item: LayoutItem) -> str:
    match item:
        case LaidOutRegion():
            return item.region.kind
        case LayoutCopy():
            return "copy"
        case SizeWrite():
            return "write sizes"
        case CopyIn():
            return "copy in"
        case BindSizes():
            return "bind sizes"
        case FallbackOp():
            return "Fallback"


def item_anchor(item: LayoutItem) -> Node | None:
    """The anchor of the item's region, or the node of a fallback; None for items of no region."""
    match item:
        case LaidOutRegion():
            return item.region.anchor
        case FallbackOp():
            return item.node
    return None


def format_item(item: LayoutItem, model: Model, formatter: ProgramFormatter) -> str:
    match item:
        case LaidOutRegion():
            return f"{'+'.join(item.region.node_names)}: {format_tensors(item, formatter)}"
        case LayoutCopy():
            source, target = (formatter.format_layout(t, item.value.name) for t in (item.source, item.target))
            return f"{source} -> {target}; for {'+'.join(item.nodes)}"
        case SizeWrite():
            sizes = formatter.format_shape(item.sizes)
            return f"{sizes} -> {formatter.format_layout(item.target, item.value.name)}; for {'+'.join(item.nodes)}"
        case CopyIn():
            return formatter.format_layout(item.tensor, item.value.name)
        case BindSizes():
            return str(item)
        case FallbackOp():
            reason = fallback_reason(item.node, model)
            read = [formatter.format_layout(tensor, v.name) for v, tensor in item.native_inputs.items()]
            return f"{reason}; reads {', '.join(read)}" if read else reason


def format_tensors(item: LaidOutRegion[object], formatter: ProgramFormatter) -> str:
    """The tensors read, those of the epilogue included, and written."""
    read = zip(item.region.all_reads, (*item.operands, *item.epilogue_operands), strict=True)
    written = zip(item.region.writes, item.results, strict=True)
    texts = (
        ", ".join(format_port(port, tensor, item, formatter) for port, tensor in ports)
        for ports in (read, written)
    )
    return " -> ".join(texts).strip()  # a region may read nothing, or write nothing


def format_port(
    port: Read | Write, tensor: TensorView, item: LaidOutRegion[object], formatter: ProgramFormatter
) -> str:
    """A tensor as the kernel sees it, with the note [N, ..., C] if it is channels-last and has more than two axes."""
    layout = resolve(port.layout, item.channels_last)
    note = f" {layout}" if isinstance(layout, ChannelsLast) and tensor.rank > 2 else ""
    return formatter.format_layout(tensor, port.value.name, note)

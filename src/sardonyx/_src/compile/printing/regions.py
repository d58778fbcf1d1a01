"""Printer of regions: the fused nodes, the layouts that each region reads and writes, and its guards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from sardonyx._src.compile.lower.operators.elementwise import Elementwise
from sardonyx._src.compile.partition import FusedEpilogue, Read, Region, RegionGraph, Write
from sardonyx._src.compile.partition.regions.region import Fallback
from sardonyx._src.compile.printing.expressions import format_expression
from sardonyx._src.compile.printing.fallbacks import fallback_reason
from sardonyx._src.compile.printing.formatter import ProgramFormatter
from sardonyx._src.ir import Model

INDENT = "    "


def format_regions(graph: RegionGraph, formatter: ProgramFormatter) -> Iterator[str]:
    """A line per region, numbered in the order of the graph, with the bodies of control flow after their region."""
    regions = ordered_regions(graph)
    width = max((len(region.kind) for region in regions), default=0)
    for i, region in enumerate(regions):
        text = format_region(region, graph.scope.model, formatter)
        yield f"{i:4} {region.kind:{width}}  {'+'.join(region.node_names)}: {text}"
        for name, body in nested_graphs(region.config):
            yield f"{INDENT} {name}:"
            yield from (INDENT + line for line in format_regions(body, formatter))


def ordered_regions(graph: RegionGraph) -> list[Region[object]]:
    """The regions of a graph, ordered by the node at which each is executed; a deferred region by its own node."""
    order = {node: i for i, node in enumerate(graph.scope.graph.nodes)}
    return sorted(graph.all_regions, key=lambda region: order[region.last or region.anchor])


def nested_graphs(config: object) -> Iterator[tuple[str, RegionGraph]]:
    """The names and regions of the bodies in the config of a control-flow region."""
    if isinstance(config, RegionGraph) or not is_dataclass(config):
        return
    for field in fields(config):
        value = getattr(config, field.name)
        if isinstance(value, RegionGraph):
            yield field.name, value
        elif body := getattr(value, "body", None):
            yield field.name, body


def format_region(region: Region[object], model: Model, formatter: ProgramFormatter) -> str:
    if isinstance(region.config, Fallback):
        return fallback_reason(region.anchor, model)
    parts = [format_dataflow(region), "; ".join(region_expression(region))]
    if region.epilogue is not None and region.epilogue.reads:
        parts.append("with " + ", ".join(format_epilogue_operands(region.epilogue)))
    parts += [f"guard {formatter.format_guard(guard)}" for guard in region.guards]
    parts.append("deferred" if region.is_deferred else "")
    return "; ".join(filter(None, parts))


def format_dataflow(region: Region[object]) -> str:
    """The values read and written, each with its layout."""
    operands = [format_port(read) for read in region.reads]
    operands = operands or list(dict.fromkeys(alias.source.name for alias in region.aliases))
    results = [format_port(write) for write in region.writes]
    results += [f"{alias.value.name} (view of {alias.source.name})" for alias in region.aliases]
    return f"{', '.join(operands)} -> {', '.join(results)}".strip()


def format_port(port: Read | Write) -> str:
    return f"{port.value.name or 'constant'} ({port.layout})"


def format_epilogue_operands(epilogue: FusedEpilogue) -> list[str]:
    names = [f"o{i}" for i in range(len(epilogue.epilogue.operand_layouts))][-len(epilogue.reads) :]
    return [f"{name} = {format_port(read)}" for name, read in zip(names, epilogue.reads, strict=True)]


def region_expression(region: Region[object]) -> list[str]:
    """The statements of an elementwise region, or of an epilogue; none where a result is stored unchanged."""
    if isinstance(region.config, Elementwise):
        return format_expression(*region.config.expressions)
    if region.epilogue is None:
        return []
    statements = format_expression(region.epilogue.epilogue.expression)
    return [] if statements == ["x"] else statements

"""Printer of loops: the loop nest of each step's kernel, and the expression that it stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.partition import Region, RegionGraph
from sardonyx._src.compile.printing.formatter import ProgramFormatter
from sardonyx._src.compile.printing.loop_outline import format_outline, outline_kernel
from sardonyx._src.compile.printing.regions import nested_graphs, region_expression
from sardonyx._src.compile.printing.steps import action_kind, action_name, format_operands
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.steps.program import Action, Program


def format_loops(
    program: Program, graph: RegionGraph, target: Target, formatter: ProgramFormatter
) -> Iterator[str]:
    """For each step its units of work, its expression and the loops of its kernel, once for each kernel."""
    expressions, first_steps = step_expressions(program.actions, graph), dict[str, int]()
    for i, action in enumerate(program.actions):
        yield f"{i:4} {action_kind(action)}  {action_name(action)}"
        if not isinstance(action, Step):
            continue
        yield f"     {format_operands(action, formatter)}, units {formatter.substitute(action.units)}"
        first = first_steps.setdefault(action.kernel.key, i)
        nest = format_nest(action, target) if first == i else [f"loops of {first}"]
        yield from (f"       {line}" for line in (*expressions.get(i, ()), *nest))


def format_nest(step: Step, target: Target) -> Iterator[str]:
    names = step.kernel.parameters.slot_names(len(step.args))
    return format_outline(outline_kernel(step.kernel.source("kernel", target), "kernel", names))


def step_expressions(actions: Sequence[Action], graph: RegionGraph) -> dict[int, list[str]]:
    """The statements of elementwise regions and epilogues, by the index of the step that stores their result.

    This is the last step of a region, apart from copies.
    """
    regions = {region.node_names: region for region in nested_regions(graph)}
    last_steps = {
        action.nodes: i
        for i, action in enumerate(actions)
        if isinstance(action, Step) and not action.kernel.key.startswith("copy_")
    }
    return {i: named_statements(regions[nodes]) for nodes, i in last_steps.items() if nodes in regions}


def nested_regions(graph: RegionGraph) -> Iterator[Region[object]]:
    """The regions of a graph and of the bodies in it."""
    for region in graph.all_regions:
        yield region
        for _, body in nested_graphs(region.config):
            yield from nested_regions(body)


def named_statements(region: Region[object]) -> list[str]:
    """The statements of a region; the last one names the result."""
    *statements, result = region_expression(region) or [""]
    return [*statements, f"{region.writes[0].value.name} = {result}"] if result else []

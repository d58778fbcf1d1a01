"""Resolution of name conflicts between two models."""

from __future__ import annotations

from collections.abc import Collection

from sardonyx._src.errors import InputError
from sardonyx._src.ir import Model, Value
from sardonyx._src.ir.dims import Dim, symbol
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import graphs, nodes, values
from sardonyx._src.tools.calls import main_graphs
from sardonyx._src.tools.relabel import relabel_values
from sardonyx._src.tools.symbols import dim_names, substitute


def rename_shared_dims(a: Model, b: Model) -> None:
    """Rename the dimension variables of the second model that the first one also has."""
    first, second = dim_names(main_graphs(a)), dim_names(main_graphs(b))
    names = FreshNames(first | second)
    changes: dict[str, Dim] = {name: symbol(names.fresh(name)) for name in sorted(first & second)}
    substitute(main_graphs(b), changes)


def rename_shared_names(
    a: Model,
    b: Model,
    connected: dict[Value, Value],
    first_outputs: Collection[Value],
    prefix: str,
    *,
    prefix_public: bool,
) -> None:
    """Rename inner values, nodes and graphs whose names conflict; with `prefix_public` also inputs and outputs of the
    second model."""
    inputs = [v for v in b.graph.inputs if v not in connected]
    outputs = [v for v in b.graph.outputs if v not in connected or v.name != connected[v].name]
    public = {v: v.name for v in (*inputs, *outputs)}
    outside = {v.name for v in (*a.graph.inputs, *first_outputs)}
    public.update({v: prefix + v.name for v in public if v.name in outside and prefix_public})
    for value, name in public.items():
        if name in outside:
            what = f"both models have an input or output {value.name!r}"
            raise InputError(f"{what}; rename one, or prefix those of the second", name=value.name)
    names = FreshNames.of_graphs(main_graphs(a))
    rename_conflicting(a, set(public.values()), names)
    names.taken.update(public.values())
    relabel_values(main_graphs(b), public | inner_names(b, connected, public, prefix, names))
    for node in (node for graph in main_graphs(b) for node in nodes(graph) if node.name):
        node.name = names.fresh(prefix + node.name if node.name in names.taken else node.name)
    known = FreshNames(graph.name for root in main_graphs(a) for graph in graphs(root))
    for graph in (g for root in main_graphs(b) for g in graphs(root) if g.name):
        graph.name = known.fresh(prefix + graph.name if graph.name in known.taken else graph.name)


def rename_conflicting(a: Model, reserved: Collection[str], names: FreshNames) -> None:
    """Rename inner values of the first model that conflict with inputs or outputs of the second."""
    names.taken.update(reserved)
    clashing = [v for root in main_graphs(a) for g in graphs(root) for v in values(g) if v.name in reserved]
    relabel_values(main_graphs(a), {v: names.fresh(v.name) for v in clashing})


def inner_names(
    b: Model, connected: dict[Value, Value], public: Collection[Value], prefix: str, names: FreshNames
) -> dict[Value, str]:
    """Unused names for the inner values of the second model: their present names if possible."""
    new_names: dict[Value, str] = {}
    for graph in (g for root in main_graphs(b) for g in graphs(root)):
        for value in values(graph):
            if value not in public and value not in connected:
                preferred = prefix + value.name if value.name in names.taken else value.name
                new_names[value] = names.fresh(preferred)
    return new_names

"""Names that two models share and that do not mean the same, kept apart."""

from __future__ import annotations

from collections.abc import Collection

from sardonyx._src.errors import InputError
from sardonyx._src.ir.dims import Dim, symbol
from sardonyx._src.ir.graph import Model, Value
from sardonyx._src.ir.names import Names
from sardonyx._src.ir.walk import graphs, nodes, values
from sardonyx._src.rewrite.tools.calls import main_graphs
from sardonyx._src.rewrite.tools.relabel import relabel_values
from sardonyx._src.rewrite.tools.symbols import names_in, substitute


def keep_dims_apart(a: Model, b: Model) -> None:
    """Renames the dimension variables of the second model whose names the first one has."""
    taken, own = names_in(main_graphs(a)), names_in(main_graphs(b))
    changes: dict[str, Dim] = {}
    for name in sorted(taken & own):
        number = 1
        while f"{name}_{number}" in taken | own:
            number += 1
        changes[name] = symbol(f"{name}_{number}")
        own.add(f"{name}_{number}")
    substitute(main_graphs(b), changes)


def keep_names_apart(
    a: Model,
    b: Model,
    connected: dict[Value, Value],
    kept: Collection[Value],
    prefix: str,
    *,
    prefix_public: bool,
) -> None:
    """Renames what has a name that the other model has too: inner values and nodes of either, and public ones of the
    second where the caller says so."""
    inputs = [v for v in b.graph.inputs if v not in connected]
    outputs = [v for v in b.graph.outputs if v not in connected or v.name != connected[v].name]
    public = {v: v.name for v in (*inputs, *outputs)}
    outside = {v.name for v in (*a.graph.inputs, *kept)}
    public.update({v: prefix + v.name for v in public if v.name in outside and prefix_public})
    for value, name in public.items():
        if name in outside:
            what = f"both models have an input or output {value.name!r}"
            raise InputError(f"{what}; rename one, or prefix those of the second", name=value.name)
    names = Names(main_graphs(a))
    give_way(a, set(public.values()), names)
    names.taken.update(public.values())
    relabel_values(main_graphs(b), public | inner_names(b, connected, public, prefix, names))
    for node in (node for graph in main_graphs(b) for node in nodes(graph) if node.name):
        node.name = names.fresh(prefix + node.name if node.name in names.taken else node.name)
    known = Names(())
    known.taken = {graph.name for root in main_graphs(a) for graph in graphs(root)}
    for graph in (g for root in main_graphs(b) for g in graphs(root) if g.name):
        graph.name = known.fresh(prefix + graph.name if graph.name in known.taken else graph.name)


def give_way(a: Model, wanted: Collection[str], names: Names) -> None:
    """Renames the first model's inner values whose names the second one's inputs and outputs have."""
    names.taken.update(wanted)
    clashing = [v for root in main_graphs(a) for g in graphs(root) for v in values(g) if v.name in wanted]
    relabel_values(main_graphs(a), {v: names.fresh(v.name) for v in clashing})


def inner_names(
    b: Model, connected: dict[Value, Value], public: Collection[Value], prefix: str, names: Names
) -> dict[Value, str]:
    """Free names for the second model's inner values: their own where they can have them."""
    found: dict[Value, str] = {}
    for graph in (g for root in main_graphs(b) for g in graphs(root)):
        for value in values(graph):
            if value not in public and value not in connected:
                wanted = prefix + value.name if value.name in names.taken else value.name
                found[value] = names.fresh(wanted)
    return found

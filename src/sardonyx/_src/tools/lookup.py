"""Look-up of names given by the caller, with suggestions for unknown ones."""

from __future__ import annotations

from collections.abc import Iterable

from sardonyx._src.errors import InputError
from sardonyx._src.ir import Graph, Value
from sardonyx._src.ir.walk import graph_path, graphs, values
from sardonyx._src.suggestions import suggest


def find_value(graph: Graph, name: str) -> Value:
    """The value of a name in the graph itself, without subgraphs; raises InputError, which mentions a subgraph with the name."""
    by_name = {value.name: value for value in values(graph)}
    if name in by_name and name:
        return by_name[name]
    for inner in graphs(graph):
        if any(value.name == name for value in values(inner)):
            what = f"{name!r} is a value of the subgraph {graph_path(inner).removesuffix('.')}"
            raise InputError(f"{what}; name a value of the graph itself", name=name)
    hint = suggest(name, sorted(by_name), "values")
    raise InputError(f"the graph has no value {name!r}{hint}", name=name)


def refuse_duplicates(names: Iterable[str], what: str) -> None:
    """Raise InputError for a name that is given more than once."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{what} {name!r} is named twice; name it once", name=name)
        seen.add(name)

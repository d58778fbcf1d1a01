"""Names that a caller gives, looked up; a wrong one is told with the nearest that there is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

from sardonyx._src.errors import InputError
from sardonyx._src.ir.graph import Graph, Value
from sardonyx._src.ir.walk import graph_path, graphs, values

SEARCHED = 10_000  # names that a misspelt one is compared with
LISTED = 8  # names that a message tells when none is near


def value_named(graph: Graph, name: str) -> Value:
    """The value of that name in the graph itself; raises InputError, naming the place of one that is further in."""
    found = {value.name: value for value in values(graph)}
    if name in found and name:
        return found[name]
    for inner in graphs(graph):
        if any(value.name == name for value in values(inner)):
            what = f"{name!r} is a value of the subgraph {graph_path(inner).removesuffix('.')}"
            raise InputError(f"{what}; name a value of the graph itself", name=name)
    raise InputError(f"the graph has no value {name!r}{near(name, found)}", name=name)


def near(name: str, known: Iterable[str]) -> str:
    """A hint that names the nearest of the known names, or some of them; nothing where there is none."""
    names = sorted(filter(None, islice(known, SEARCHED)))
    close = difflib.get_close_matches(name, names, 1)
    if close:
        return f"; did you mean {close[0]!r}?"
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"; there are {', '.join(map(repr, names[:LISTED]))}{more}" if names else "; there is none"


def refuse_twice(names: Iterable[str], what: str) -> None:
    """Raises InputError for a name that is given more than once."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{what} {name!r} is named twice; name it once", name=name)
        seen.add(name)

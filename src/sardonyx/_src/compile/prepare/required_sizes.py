"""Sizes that the operators of a model require to be equal: guards of a program, and what they tell about the sizes of inputs.

In a valid run, an open dim that must be a number, such as the channels that the weights of a Conv have, is that number, and
one that must be another open dim is that one, so that everything can be compiled for it; a guard holds runs to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from sardonyx._src.compile.program.guards import Guard
from sardonyx._src.infer.incremental import IncrementalInference
from sardonyx._src.ir.dims import Dim, Known, has_opaque_part, known_equal, symbol
from sardonyx._src.ir.dims.atoms import Symbol, lone_atom
from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.inference import DimPair


def required_guards(graph: Graph, facts: IncrementalInference, names: Set[str]) -> dict[Guard, None]:
    """What the nodes of a graph require of the sizes with these names; nothing for nodes that can never be valid."""
    pairs = (pair for pair in required_pairs(graph, facts) if depend_on(names, *pair))
    return {Guard.of(a, b): None for a, b in pairs if known_equal(a, b) is None}


def required_sizes(graph: Graph, facts: IncrementalInference, names: Iterable[str]) -> dict[str, Known]:
    """The sizes that must be a number, or one of the names before their own."""
    order = {name: i for i, name in enumerate(names, 1)}
    required: dict[str, Known] = {}
    for pair in required_pairs(graph, facts):
        for size, dim in (pair, pair[::-1]):
            name = symbol_name(size)
            is_earlier = 0 < order.get(symbol_name(dim), 0) < order.get(name, 0)
            if name in order and (isinstance(dim, int) or is_earlier):
                required.setdefault(name, dim)
    return required


def size_guards(sizes: Mapping[str, Known]) -> dict[Guard, None]:
    """That sizes, by name, are these dims."""
    return {Guard.of(symbol(name), dim): None for name, dim in sizes.items()}


def required_pairs(graph: Graph, facts: IncrementalInference) -> Iterator[DimPair]:
    """The dims that nodes of a graph require to be equal.  Subgraphs require nothing, since a run may not execute them."""
    for node in graph.nodes:
        yield from facts.equal_dims(node)


def depend_on(names: Set[str], *dims: Known) -> bool:
    """Whether dims depend on symbols of these names only."""
    return all(isinstance(dim, int) or (dim.symbols() <= names and not has_opaque_part(dim)) for dim in dims)


def replace_sizes(graph: Graph, sizes: Mapping[str, Known]) -> None:
    """Replaces symbols in the types of a graph's inputs, by name."""
    for value in graph.inputs:
        if isinstance(value.type, TensorType) and value.type.shape is not None:
            shape = tuple(sizes.get(symbol_name(dim), dim) for dim in value.type.shape)
            value.type = TensorType(value.type.dtype, shape)


def symbol_name(dim: Dim) -> str:
    """The name of a dim that is one symbol; "" for others."""
    atom = None if dim is None else lone_atom(dim)
    return atom.name if isinstance(atom, Symbol) else ""

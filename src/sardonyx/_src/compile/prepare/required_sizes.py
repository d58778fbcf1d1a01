"""Sizes that operators require to be equal: they become guards, and replace sizes of inputs.

An open dim of an input may have to equal a number, such as the channels in constant weights of a Conv, or another
open dim.  In every valid run it does, so the model is compiled with that number or dim in place, and a guard rejects
other runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from sardonyx._src.compile.program import Guard
from sardonyx._src.infer.incremental import IncrementalInference
from sardonyx._src.ir import Graph, TensorType
from sardonyx._src.ir.dims import Dim, Known, has_opaque_part, known_equal, symbol
from sardonyx._src.ir.dims.atoms import Symbol, lone_atom
from sardonyx._src.ops.inference import DimPair


def required_guards(graph: Graph, facts: IncrementalInference, names: Set[str]) -> dict[Guard, None]:
    """The equalities that nodes of a graph require of sizes with these names, except equalities that are proved or never hold."""
    pairs = (pair for pair in required_pairs(graph, facts) if depend_on(names, *pair))
    return {Guard.of(a, b): None for a, b in pairs if known_equal(a, b) is None}


def required_sizes(graph: Graph, facts: IncrementalInference, names: Iterable[str]) -> dict[str, Known]:
    """The sizes, by name, that must be a number, or an earlier one of the named sizes."""
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
    """Guards that the named sizes equal these dims."""
    return {Guard.of(symbol(name), dim): None for name, dim in sizes.items()}


def required_pairs(graph: Graph, facts: IncrementalInference) -> Iterator[DimPair]:
    """The pairs of dims that nodes of a graph require to be equal.

    Nodes of subgraphs are left out, since a run may not execute them.
    """
    for node in graph.nodes:
        yield from facts.equal_dims(node)


def depend_on(names: Set[str], *dims: Known) -> bool:
    """Whether dims depend on symbols of these names only."""
    return all(isinstance(dim, int) or (dim.symbols() <= names and not has_opaque_part(dim)) for dim in dims)


def replace_sizes(graph: Graph, sizes: Mapping[str, Known]) -> None:
    """Replaces named symbols in the types of a graph's inputs."""
    for value in graph.inputs:
        if isinstance(value.type, TensorType) and value.type.shape is not None:
            shape = tuple(sizes.get(symbol_name(dim), dim) for dim in value.type.shape)
            value.type = TensorType(value.type.dtype, shape)


def symbol_name(dim: Dim) -> str:
    """The name of a dim that is one symbol; "" for any other dim."""
    atom = None if dim is None else lone_atom(dim)
    return atom.name if isinstance(atom, Symbol) else ""

"""Sizes that a model declares for inner values: results of nodes, and formal parameters of subgraphs and functions.

Many files have outdated declarations.  Nothing computes with them; a session only compares them with actual sizes.  The
reference engine observes every value.  Compiled programs do not keep most values, so that for the native engine type
inference decides before a run which declarations hold in every run, which hold in none, and on which input sizes the others
depend (`declaration_analysis.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Graph, Model, Node, Value
from sardonyx._src.ir.dims import Known, evaluate
from sardonyx._src.ir.walk import graph_path, graphs, location, values
from sardonyx._src.ops.persistent_sequence import PersistentSequence
from sardonyx._src.ops.run_values import RuntimeValue, as_plain_value
from sardonyx._src.runtime.declarations.declared_dims import DeclaredDims
from sardonyx._src.runtime.declarations.declared_sizes import (
    DeclaredDim,
    DeclaredSizes,
    ValueLocation,
    sizes_of,
)

# Classes with an attribute `shape`, which is compared with the declared dims.
SHAPED = frozenset({np.ndarray, PersistentSequence})
InnerDeclarations = Mapping[Value, "InnerDeclaration"]


@dataclass(slots=True)
class InnerDeclaration:
    """An inner value with a declared type that has sizes.

    graph: the graph of the value.
    is_local: whether the value is in a function, so that the names of its dims have a meaning only in one call.
    named_location: the location, once it was needed.
    dims: the dims of a tensor, or of the elements of a sequence.
    """

    value: Value
    sizes: DeclaredSizes
    graph: Graph
    is_local: bool
    named_location: ValueLocation | None = None
    dims: tuple[DeclaredDim, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.dims = (self.sizes.elements or self.sizes).dims

    @property
    def location(self) -> ValueLocation:
        """The value with its node, for messages."""
        if self.named_location is None:
            producer = self.value.producer
            node = f"{graph_path(self.graph)}input" if producer is None else location(producer)
            where = f"value {self.value.name!r} ({node})"
            self.named_location = ValueLocation(self.value.name, where, where, "result")
        return self.named_location


@dataclass(frozen=True, slots=True)
class OpenDim:
    """A declared dim of an inner value that is right in some runs and wrong in others.

    location: the value and the axis, as text.
    type: the declared type of the value.
    declared, actual: the declared and the inferred dim, as expressions of input sizes.
    """

    location: str
    type: str
    declared: Known
    actual: Known

    def finding(self, lengths: Mapping[str, int]) -> tuple[str, str] | None:
        """The location and a message, if the dim contradicts its declaration in a run with these lengths; else None."""
        declared, actual = evaluate(self.declared, lengths), evaluate(self.actual, lengths)
        if declared is None or actual is None or declared == actual:
            return None
        return self.location, f"{self.location} must have length {self.declared} ({self.type}); got {actual}"


@dataclass(frozen=True, slots=True)
class StaticDeclarations:
    """The declarations of a model's inner values, as far as type inference decides them.

    hold: whether all of them hold in every run that has inputs as declared.
    contradictions: declarations that hold in no run that computes the value, each as the key of its location and a message.
    open_dims: declared dims that hold for some input sizes, of values that every run computes.
    conditional_dims: the same for values in branches, bodies of loops and functions.
    """

    hold: bool = True
    contradictions: tuple[tuple[str, str], ...] = ()
    open_dims: tuple[OpenDim, ...] = ()
    conditional_dims: tuple[OpenDim, ...] = ()

    def findings(self, lengths: Mapping[str, int]) -> list[tuple[str, str]]:
        """The declarations that a run with these lengths contradicts, each as the key of its location and a message.

        lengths: the input sizes by name.
        """
        findings = [dim.finding(lengths) for dim in self.open_dims]
        return [*self.contradictions, *(finding for finding in findings if finding is not None)]

    def doubtful_locations(self, lengths: Mapping[str, int]) -> list[str]:
        """The locations of declarations that a run with these lengths contradicts, if it computes the values there."""
        findings = [dim.finding(lengths) for dim in self.conditional_dims]
        return [finding[0] for finding in findings if finding is not None]


def find_declarations(model: Model) -> InnerDeclarations:
    """The declarations of inner values that have sizes."""
    ports = {*model.graph.inputs, *model.graph.outputs}
    result: dict[Value, InnerDeclaration] = {}
    for root in (model.graph, *(function.body for function in model.functions.values())):
        for graph in graphs(root):
            for value in values(graph):
                if value.type is None or value.initializer is not None or value in ports:
                    continue
                if (sizes := sizes_of(value.type)) is not None:
                    result[value] = InnerDeclaration(value, sizes, graph, root is not model.graph)
    return result


def is_as_declared(actual: RuntimeValue, declared: InnerDeclaration) -> bool:
    """A quick test: whether a tensor, or all elements of a sequence, have exactly the declared numbers as sizes."""
    return type(actual) in SHAPED and actual.shape == declared.dims  # type: ignore[union-attr]


# --- observed runs ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeclarationObserver:
    """Compares the values of a run of the reference engine with their declarations; the run calls its methods.

    following: another observer, which is called with each node and its results.
    """

    declarations: InnerDeclarations
    dims: DeclaredDims
    following: Callable[[Node, Sequence[RuntimeValue]], None] | None = None

    def observe_node(self, node: Node, results: Sequence[RuntimeValue]) -> None:
        if self.following is not None:
            self.following(node, [as_plain_value(result) for result in results])
        if len(results) == 1:
            declared, actual = self.declarations.get(node.outputs[0]), results[0]
            if declared is None or is_as_declared(actual, declared):
                return
        self.observe_values(node.outputs, results)

    def observe_inputs(self, graph: Graph, arguments: Sequence[RuntimeValue]) -> None:
        """Called with the arguments of a subgraph or function before its nodes run."""
        self.observe_values(graph.inputs, arguments)

    def observe_values(self, formals: Sequence[Value], actuals: Sequence[RuntimeValue]) -> None:
        declarations = self.declarations
        for value, actual in zip(formals, actuals, strict=False):
            declared = declarations.get(value)
            if declared is None or is_as_declared(actual, declared):
                continue
            if not self.dims.extends(actual, declared.sizes):
                self.dims.check_inner(actual, declared.sizes, declared.location, is_local=declared.is_local)

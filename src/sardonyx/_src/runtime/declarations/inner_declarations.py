"""Sizes that a model declares of values inside it: of results of nodes, and of formal parameters of subgraphs.

Many files have stale ones.  Nothing computes with them; a session compares them with the truth.  The reference
engine observes every value.  Compiled programs do not keep most of these values, so that for the native engine type
inference decides beforehand which declarations hold in every run, which in none, and on which sizes of the inputs the others
depend (`declaration_analysis`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sardonyx._src.ir.dims import Known, evaluate
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.walk import graph_path, graphs, location, values
from sardonyx._src.ops.api import RuntimeValue, as_plain_value
from sardonyx._src.ops.persistent_sequence import PersistentSequence
from sardonyx._src.runtime.declarations.declared_dims import DeclaredDims
from sardonyx._src.runtime.declarations.declared_sizes import DeclaredDim, DeclaredSizes, Place, sizes_of

SHAPED = frozenset(
    {np.ndarray, PersistentSequence}
)  # classes of values whose `shape` is compared with that declared
InnerDeclarations = Mapping[Value, "InnerDeclaration"]


@dataclass(slots=True)
class InnerDeclaration:
    """A declared type with sizes.

    is_local: names of its dims belong to one call of a function.  dims: of a tensor, or of the elements of a sequence.
    """

    value: Value
    sizes: DeclaredSizes
    graph: Graph
    is_local: bool
    named_place: Place | None = None
    dims: tuple[DeclaredDim, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.dims = (self.sizes.elements or self.sizes).dims

    @property
    def place(self) -> Place:
        """The value with its node, for messages."""
        if self.named_place is None:
            producer = self.value.producer
            node = f"{graph_path(self.graph)}input" if producer is None else location(producer)
            where = f"value {self.value.name!r} ({node})"
            self.named_place = Place(self.value.name, where, where, "result")
        return self.named_place


@dataclass(frozen=True, slots=True)
class OpenDim:
    """A declared dim of an inner value that holds in some runs.

    place: the value and the axis.  actual: what the dim is, by the names of the inputs' sizes.
    """

    place: str
    type: str
    declared: Known
    actual: Known

    def finding(self, lengths: Mapping[str, int]) -> tuple[str, str] | None:
        """The key of the place and a message, if the dim is another than declared in a run with these lengths."""
        declared, actual = evaluate(self.declared, lengths), evaluate(self.actual, lengths)
        if declared is None or actual is None or declared == actual:
            return None
        return self.place, f"{self.place} must have length {self.declared} ({self.type}); got {actual}"


@dataclass(frozen=True, slots=True)
class StaticDeclarations:
    """What type inference knows about the declarations of a model's inner values.

    hold: whether all of them hold in every run whose inputs are as declared.  contradictions: those that hold in no run
    that computes the value, each with the key of its place and a message.  open_dims: those of which the sizes of the inputs
    tell, of values that every run computes.  conditional_dims: of values in branches and bodies of loops.
    """

    hold: bool = True
    contradictions: tuple[tuple[str, str], ...] = ()
    open_dims: tuple[OpenDim, ...] = ()
    conditional_dims: tuple[OpenDim, ...] = ()

    def findings(self, lengths: Mapping[str, int]) -> list[tuple[str, str]]:
        """What a run contradicts whose inputs have these lengths by name, each with the key of its place and a message."""
        false = [dim.finding(lengths) for dim in self.open_dims]
        return [*self.contradictions, *(finding for finding in false if finding is not None)]

    def doubtful_places(self, lengths: Mapping[str, int]) -> list[str]:
        """The places that a run contradicts whose inputs have these lengths, if it computes the values there."""
        findings = [dim.finding(lengths) for dim in self.conditional_dims]
        return [finding[0] for finding in findings if finding is not None]


def find_declarations(model: Model) -> InnerDeclarations:
    """The declarations of inner values that have sizes."""
    border = {*model.graph.inputs, *model.graph.outputs}
    result: dict[Value, InnerDeclaration] = {}
    for root in (model.graph, *(function.body for function in model.functions.values())):
        for graph in graphs(root):
            for value in values(graph):
                if value.type is None or value.initializer is not None or value in border:
                    continue
                if (sizes := sizes_of(value.type)) is not None:
                    result[value] = InnerDeclaration(value, sizes, graph, root is not model.graph)
    return result


def is_as_declared(actual: RuntimeValue, declared: InnerDeclaration) -> bool:
    """Whether a tensor, or all elements of a sequence, have exactly the declared sizes; False if that takes longer to tell."""
    return type(actual) in SHAPED and actual.shape == declared.dims  # type: ignore[union-attr]


# --- observed runs ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeclarationObserver:
    """Compares values of a run of the reference engine with their declarations; the run calls its methods."""

    declarations: InnerDeclarations
    dims: DeclaredDims
    following: Callable[[Node, Sequence[RuntimeValue]], None] | None = None  # called with each node, too

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
                self.dims.check_inner(actual, declared.sizes, declared.place, is_local=declared.is_local)

"""The context that the facets of an operator (its functions for types and for elements) receive for one node.

It looks up known elements, records on which of them a result depends, and suspends a facet that needs a subgraph walked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Literal

from sardonyx._src.dataclass import dataclass
from sardonyx._src.infer.elements import Elements
from sardonyx._src.ir import Graph, Type, Value
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.inference import Inference, Iteration, Known

Purpose = Literal["types", "iteration", "unused"]


class NeedsSubgraph(Exception):  # no error: suspends a facet until the subgraph has been walked
    """A subgraph that must be walked before the facet can continue."""

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Type | None],
        known: Sequence[Known | None],
        purpose: Purpose,
        is_certain: bool,
    ) -> None:
        """inputs: the types of the subgraph's inputs.
        known: their known elements.
        purpose: "types" of all iterations, a single "iteration", or a subgraph that is "unused", that is, never executed.
        is_certain: whether every run of the node executes the subgraph.
        """
        self.graph, self.inputs, self.known, self.purpose = graph, inputs, known, purpose
        self.is_certain = is_certain


@dataclass(slots=True)
class ReplayState:
    """What a suspended facet has received so far; the facet is called again from its start after each subgraph.

    A suspended facet is not on Python's stack, so that deeply nested graphs do not overflow it.
    results: the results of the subgraphs, in the order in which the facet requested them.
    dims: the new symbols, in the order in which the facet requested them.
    max_iterations: for each subgraph, how many iterations may be walked one by one.
    """

    results: list[list[Type | None] | Iteration | None] = field(default_factory=list)
    dims: list[Dim] = field(default_factory=list)
    max_iterations: dict[Graph, int] = field(default_factory=dict)


@dataclass(slots=True)
class NodeInferenceContext(Inference):
    """The `Inference` of one node of a model: looks up elements on demand and records what the result depends on.

    values: the node's inputs.
    elements: the known elements of all values of the model.
    iteration_budget: returns how many iterations of a subgraph may be walked one by one.
    replay: the results for a suspended facet; None: the facet cannot wait for subgraphs.
    inputs_read: the inputs from which the facet has read elements, as keys.
    is_unique: whether the result has new symbols or depends on a subgraph, so that it cannot be cached.
    output_index: the output for which a value facet computes elements.
    reads_output_index: whether the value facet computes elements of outputs other than output 0.
    output_elements: elements of the outputs that the infer facet has set.
    subgraph_count: the number of subgraph results requested so far.
    new_dim_count: the number of new symbols requested so far.
    """

    values: Sequence[Value | None] = ()
    elements: Elements = field(default_factory=Elements)
    iteration_budget: Callable[[Graph], int] | None = None
    replay: ReplayState | None = None
    inputs_read: dict[int, None] = field(default_factory=dict)
    is_unique: bool = False
    output_index: int = 0
    reads_output_index: bool = False
    output_elements: Sequence[Known | None] = ()
    subgraph_count: int = 0
    new_dim_count: int = 0

    def value(self, i: int) -> Known | None:
        self.inputs_read[i] = None
        return self.elements.get(self.values[i]) if i < len(self.values) else None

    def new_dim(self) -> Dim:
        self.is_unique = True
        replay, index = self.replay, self.new_dim_count
        self.new_dim_count += 1
        if replay is None:
            return Inference.new_dim(self)
        if index == len(replay.dims):
            replay.dims.append(Inference.new_dim(self))
        return replay.dims[index]

    def subgraph(
        self,
        name: str,
        inputs: Sequence[Type | None],
        known: Sequence[Known | None] = (),
        *,
        is_certain: bool = True,
    ) -> list[Type | None] | None:
        types = self.subgraph_result(name, inputs, known, "types", is_certain=is_certain)
        assert not isinstance(types, Iteration), "a replayed facet must request the same subgraphs"
        return types

    def iteration(
        self, name: str, inputs: Sequence[Type | None], known: Sequence[Known | None]
    ) -> Iteration | None:
        result = self.subgraph_result(name, inputs, known, "iteration")
        assert not isinstance(result, list), "a replayed facet must request the same subgraphs"
        return result

    def infer_unused_subgraph(self, name: str) -> None:
        self.subgraph_result(name, (), (), "unused")

    def subgraph_result(
        self,
        name: str,
        inputs: Sequence[Type | None],
        known: Sequence[Known | None],
        purpose: Purpose,
        *,
        is_certain: bool = True,
    ) -> list[Type | None] | Iteration | None:
        """The result of walking a subgraph; raises NeedsSubgraph if it has not been walked yet."""
        self.is_unique = True
        graph = self.attributes.get(name)
        if self.replay is None or not isinstance(graph, Graph):
            return None
        index = self.subgraph_count
        self.subgraph_count += 1
        if index == len(self.replay.results):
            raise NeedsSubgraph(graph, inputs, known, purpose, is_certain)
        return self.replay.results[index]

    def subgraph_elements(self, name: str) -> Sequence[Known | None] | None:
        graph = self.attributes.get(name)
        return [self.elements.get(v) for v in graph.outputs] if isinstance(graph, Graph) else None

    def max_iterations(self, name: str) -> int:
        graph = self.attributes.get(name)
        if self.replay is None or self.iteration_budget is None or not isinstance(graph, Graph):
            return 0
        return self.replay.max_iterations.setdefault(graph, self.iteration_budget(graph))

    def set_output_elements(self, known: Sequence[Known | None]) -> None:
        self.output_elements = known

    def requested_output(self) -> int:
        self.reads_output_index = True
        return self.output_index

"""What one node asks its operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sardonyx._src.infer.elements import Elements
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Graph, Value
from sardonyx._src.ir.types import Type
from sardonyx._src.ops.inference import Inference, Iteration, Known

Purpose = Literal["types", "iteration", "unused"]


class Wanted(Exception):  # no error, but a facet's way to say what it waits for
    """A subgraph that has to be walked before the facet can go on."""

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Type | None],
        known: Sequence[Known | None],
        purpose: Purpose,
    ) -> None:
        self.graph, self.inputs, self.known, self.purpose = graph, inputs, known, purpose


@dataclass(slots=True)
class Story:
    """What a facet has been told so far; it is asked anew when a subgraph that it waits for has been walked.

    So graphs inside of graphs take no more of Python's stack than those beside each other.
    """

    walked: list[list[Type | None] | Iteration | None] = field(default_factory=list)
    dims: list[Dim] = field(default_factory=list)  # symbols that it was given
    trips: dict[Graph, int] = field(default_factory=dict)  # how many iterations it may see


@dataclass(slots=True)
class Question(Inference):
    """An Inference that looks elements up when a facet asks for them, and notes what the answer depends on."""

    values: Sequence[Value | None] = ()
    elements: Elements = field(default_factory=Elements)
    room: Callable[[Graph], int] | None = None  # how many iterations of a subgraph may be walked one by one
    story: Story | None = None  # where the facet may wait for subgraphs
    asked: tuple[int, ...] = ()  # inputs whose elements a facet has asked for
    is_unique: bool = False  # whether the answer has symbols of its own, or comes of a subgraph
    at: int = 0  # the output that a value facet is asked about
    looked: bool = False  # whether it has looked which one that is
    told: Sequence[Known | None] = ()  # elements of outputs that the infer facet has found on its way
    subgraphs: int = 0  # how many it has asked for
    new_dims: int = 0

    def value(self, i: int) -> Known | None:
        if i not in self.asked:
            self.asked = (*self.asked, i)
        return self.elements.get(self.values[i]) if i < len(self.values) else None

    def new_dim(self) -> Dim:
        self.is_unique = True
        story, at = self.story, self.new_dims
        self.new_dims += 1
        if story is None:
            return Inference.new_dim(self)
        if at == len(story.dims):
            story.dims.append(Inference.new_dim(self))
        return story.dims[at]

    def subgraph(
        self, name: str, inputs: Sequence[Type | None], known: Sequence[Known | None] = ()
    ) -> list[Type | None] | None:
        found = self.walked(name, inputs, known, "types")
        assert not isinstance(found, Iteration), "a facet that is asked again asks for the same"
        return found

    def iteration(
        self, name: str, inputs: Sequence[Type | None], known: Sequence[Known | None]
    ) -> Iteration | None:
        found = self.walked(name, inputs, known, "iteration")
        assert found is None or isinstance(found, Iteration), "a facet that is asked again asks for the same"
        return found

    def unused(self, name: str) -> None:
        self.walked(name, (), (), "unused")

    def walked(
        self, name: str, inputs: Sequence[Type | None], known: Sequence[Known | None], purpose: Purpose
    ) -> list[Type | None] | Iteration | None:
        """What the walk of a subgraph gave; raises Wanted where it has not been walked yet."""
        self.is_unique = True
        graph = self.attributes.get(name)
        if self.story is None or not isinstance(graph, Graph):
            return None
        at = self.subgraphs
        self.subgraphs += 1
        if at == len(self.story.walked):
            raise Wanted(graph, inputs, known, purpose)
        return self.story.walked[at]

    def subgraph_elements(self, name: str) -> Sequence[Known | None] | None:
        graph = self.attributes.get(name)
        return [self.elements.get(v) for v in graph.outputs] if isinstance(graph, Graph) else None

    def most_iterations(self, name: str) -> int:
        graph = self.attributes.get(name)
        if self.story is None or self.room is None or not isinstance(graph, Graph):
            return 0
        return self.story.trips.setdefault(graph, self.room(graph))

    def tell(self, known: Sequence[Known | None]) -> None:
        self.told = known

    def output(self) -> int:
        self.looked = True
        return self.at

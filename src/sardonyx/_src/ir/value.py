"""Values: the edges of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sardonyx._src.arguments import require_type
from sardonyx._src.ir.metadata import WithMetadata
from sardonyx._src.ir.tensors import SparseTensor, Tensor
from sardonyx._src.ir.types import Type

if TYPE_CHECKING:
    from sardonyx._src.ir.details import SourceDetails
    from sardonyx._src.ir.graph import Graph
    from sardonyx._src.ir.node import Node


class Value(WithMetadata):
    """An edge: the result of a node, an input of a graph or an initializer, and its uses.

    initializer: the tensor of an initializer; for an input of a graph, the tensor is its default.
    graph: the graph with the value as an input or initializer; None for the result of a node.
    index: the position among the outputs of the producer.
    name: unique in the graph; "" for an output that the node leaves out.

    A graph of many nodes that has been loaded records the uses of its values when the first of them is read
    (`Graph._deferred_uses`): until then `_uses` is not set.
    """

    __slots__ = (
        "_uses",
        "details",
        "doc",
        "graph",
        "index",
        "initializer",
        "name",
        "producer",
        "type",
    )

    def __init__(
        self, name: str, type: Type | None = None, initializer: Tensor | SparseTensor | None = None
    ) -> None:
        self.name = name
        self.type = type
        self.initializer = initializer
        self.producer: Node | None = None
        self.index = 0
        self.graph: Graph | None = None
        self.doc = ""
        self._metadata = None
        self._uses: dict[tuple[Node, int], None] = {}
        self.details: SourceDetails | None = None

    if not TYPE_CHECKING:  # an attribute that is misspelled must stay an error

        def __getattr__(self, name: str) -> object:
            """Called for attributes that are not set: records the uses of all values of the graph if they are deferred."""
            if name != "_uses":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            if (graph := self.owner) is not None:
                graph._record_uses()
            return object.__getattribute__(self, name)  # another thread may have recorded them meanwhile

    @property
    def uses(self) -> tuple[tuple[Node, int], ...]:
        """Every use by a node of this graph or of a subgraph: the node, and the position among its inputs."""
        return tuple(self._uses)

    @property
    def owner(self) -> Graph | None:
        """The graph in which the value is defined."""
        return self.producer.graph if self.producer is not None else self.graph

    @property
    def is_graph_output(self) -> bool:
        owner = self.owner
        return owner is not None and self in owner.outputs  # values compare by identity

    def replace_by(self, other: Value) -> None:
        """Makes all nodes that use this value use `other`, and replaces it among the outputs of its own graph."""
        require_type("other", other, Value, "a Value")
        for node, slot in self.uses:
            node.set_input(slot, other)
        owner = self.owner
        if owner is not None:
            owner.outputs[:] = [other if v is self else v for v in owner.outputs]

    def __repr__(self) -> str:
        return f"Value({self.name!r}{', ' + str(self.type) if self.type else ''})"

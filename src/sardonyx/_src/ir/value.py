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

    `initializer` is the tensor of an initializer, which on a graph's input is the input's default.  A node's
    output with an empty name is left out.
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
        self.index = 0  # among the producer's outputs
        self.graph: Graph | None = None  # of a graph's input or initializer
        self.doc = ""
        self._metadata = None
        self._uses: dict[tuple[Node, int], None] = {}
        self.details: SourceDetails | None = None

    @property
    def uses(self) -> tuple[tuple[Node, int], ...]:
        """Reader and input position of every use by a node, in this graph and in those inside it."""
        return tuple(self._uses)

    @property
    def owner(self) -> Graph | None:
        """The graph in which the value is defined."""
        return self.producer.graph if self.producer is not None else self.graph

    @property
    def is_graph_output(self) -> bool:
        owner = self.owner
        return owner is not None and any(v is self for v in owner.outputs)

    def replace_by(self, other: Value) -> None:
        """Makes every reader of this value, graph outputs of its own graph included, read `other`."""
        require_type("other", other, Value, "a Value")
        for node, slot in self.uses:
            node.set_input(slot, other)
        owner = self.owner
        if owner is not None:
            owner.outputs[:] = [other if v is self else v for v in owner.outputs]

    def __repr__(self) -> str:
        return f"Value({self.name!r}{', ' + str(self.type) if self.type else ''})"

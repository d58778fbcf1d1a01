"""Sizes of inputs that an operator requires to be a known number, such as the channels that the weights of a Conv have.

In a valid run such a dim is that number, so that everything can be compiled for it; a guard holds runs to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.prepare.size_guards import symbol_name
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.incremental import RejectionRecorder
from sardonyx._src.infer.observer import ContextFactory
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Graph, Node
from sardonyx._src.ir.types import Type


class RequiredSizes(RejectionRecorder):
    """An observer of inference that collects the numbers that nodes of a graph require symbols to be.

    required: the number of each such symbol.  Nodes of subgraphs require nothing, since a run may not execute them.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.required: dict[str, int] = {}

    def on_node(
        self,
        contexts: ContextFactory,
        node: Node,
        plan: InferencePlan | None,
        types: Sequence[Type | None],
        error: InferenceError | None,
    ) -> Sequence[Type | None]:
        if node.graph is self.graph and error is None:
            for a, b in contexts.equal_dims(node):
                self.require(a, b)
                self.require(b, a)
        return super().on_node(contexts, node, plan, types, error)

    def require(self, dim: Known, number: Known) -> None:
        """Records a dim that is one symbol and must be a number."""
        if isinstance(number, int) and (name := symbol_name(dim)):
            self.required.setdefault(name, number)

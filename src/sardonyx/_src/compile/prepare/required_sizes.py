"""Sizes of inputs that an operator requires to be a known number, such as the channels that the weights of a Conv have.

In a valid run such a dim is that number, so that everything can be compiled for it; a guard holds runs to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.incremental import RejectionRecorder
from sardonyx._src.infer.observer import ContextFactory
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.ir.dims import Dim, Expr, symbol
from sardonyx._src.ir.graph import Graph, Node
from sardonyx._src.ir.types import TensorType, Type
from sardonyx._src.ops.registry import find


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
        operator = None if plan is None or node.graph is not self.graph else find(node.domain, node.op_type)
        if plan is not None and operator is not None and operator.equal_dims is not None and error is None:
            for a, b in operator.equal_dims(contexts.new_context(node, plan)):
                self.require(a, b)
                self.require(b, a)
        return super().on_node(contexts, node, plan, types, error)

    def require(self, dim: Dim, number: Dim) -> None:
        """Records a dim that is one symbol and must be a number."""
        if isinstance(dim, Expr) and isinstance(number, int):
            name = next(iter(dim.symbols()), "")
            if dim == symbol(name):
                self.required.setdefault(name, number)


def bind_sizes(graph: Graph, numbers: Mapping[str, int]) -> None:
    """Replaces symbols by numbers in the types of a graph's inputs."""
    by_symbol = {symbol(name): number for name, number in numbers.items()}
    for value in graph.inputs:
        if isinstance(value.type, TensorType) and value.type.shape is not None:
            shape = tuple(
                by_symbol.get(dim, dim) if isinstance(dim, Expr) else dim for dim in value.type.shape
            )
            value.type = TensorType(value.type.dtype, shape)

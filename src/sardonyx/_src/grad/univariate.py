"""Elementwise functions of one tensor that are written as several nodes, as GELU and SiLU are.

The gradient of y = f(x) is dy * f'(x).  Node by node, the reverse sweep would multiply dy by the derivatives along each path
from y to x, and most nodes would keep a tensor for the backward pass.  Here a sweep that starts with 1 instead of dy computes
f', which depends only on x: the kernel that computes f(x) can compute f'(x), too.  One tensor is kept, and one multiplication
is left for the backward pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.grad.operators.arithmetic import SMOOTH_ARITHMETIC
from sardonyx._src.grad.operators.elementary_functions import SMOOTH_FUNCTIONS
from sardonyx._src.ir import Node, Value
from sardonyx._src.ops.backward_step import shape_of

MAX_NODES = 32  # nodes of a function: a limit of the search, which visits all of them for each last node


@dataclass(frozen=True, slots=True)
class UnivariateFunction:
    """Nodes in topological order that compute y from x and from scalars without gradient; x and y have one shape."""

    x: Value
    y: Value
    nodes: Sequence[Node]


def find_functions(
    path: Sequence[Node], active: Collection[Value], kept: Collection[Value]
) -> Mapping[Node, UnivariateFunction]:
    """The functions among the nodes of a path of active values, by their last node; no node is in two of them.

    kept: values that must not be inside a function, since their gradients are needed, or come from elsewhere, too.
    """
    positions = {node: i for i, node in enumerate(path)}
    result: dict[Node, UnivariateFunction] = {}
    covered: set[Node] = set()
    for node in reversed(path):
        search = ChainSearch(positions, active, kept)
        if node in covered or not search.is_elementwise(node):
            continue
        function = search.find(node)
        if function is not None:
            result[node] = function
            covered.update(function.nodes)
    return result


@dataclass(frozen=True, slots=True)
class ChainSearch:
    """Searches for the function that ends with a node.

    positions: the position of each node of the path.  active, kept: as in `find_functions`.
    """

    positions: Mapping[Node, int]
    active: Collection[Value]
    kept: Collection[Value]

    def find(self, last: Node) -> UnivariateFunction | None:
        """The longest function that ends with a node and has more than one path from x to y; None if there is none.

        The set of nodes grows from the last one towards the first, in the reverse order of the path.  Whenever the nodes read
        only one active value from outside, they are a function of that value.
        """
        nodes, best = {last}, None
        while len(nodes) <= MAX_NODES:
            reads = self.reads(nodes)
            if len(reads) == 1:
                best = UnivariateFunction(reads.pop(), last.outputs[0], sorted(nodes, key=self.position))
                reads = {best.x}
            producer = max(self.extensions(reads, nodes), key=self.position, default=None)
            if producer is None:
                break
            nodes.add(producer)
        return best if best is not None and has_several_paths(best, self.active) else None

    def position(self, node: Node) -> int:
        return self.positions[node]

    def reads(self, nodes: Collection[Node]) -> set[Value]:
        """The active values that nodes read from outside."""
        inputs = {
            value for node in nodes for value in node.inputs if value is not None and value in self.active
        }
        return {value for value in inputs if value.producer not in nodes}

    def extensions(self, reads: Collection[Value], nodes: Collection[Node]) -> Iterator[Node]:
        """The elementwise nodes that compute these values and receive gradients only from the nodes found so far."""
        for value in reads:
            node = value.producer
            if (
                node is not None
                and node in self.positions
                and value not in self.kept
                and self.is_elementwise(node)
            ):
                # All nodes so far have one shape.
                same_shape = shape_of(value) == shape_of(next(iter(nodes)).outputs[0])
                if same_shape and all(self.is_inside(value, reader, nodes) for reader, _ in value.uses):
                    yield node

    def is_elementwise(self, node: Node) -> bool:
        """Whether a node is a function or arithmetic on active tensors and scalars, with a result of known shape."""
        is_known = not node.domain and (node.op_type in SMOOTH_FUNCTIONS or node.op_type in SMOOTH_ARITHMETIC)
        others = [value for value in node.inputs if value is not None and value not in self.active]
        return is_known and shape_of(node.outputs[0]) is not None and all(map(is_scalar, others))

    def is_inside(self, value: Value, reader: Node, nodes: Collection[Node]) -> bool:
        """Whether a use of a value contributes no gradient from outside of the nodes."""
        return reader in nodes or (reader not in self.positions and reader.graph is value.owner)


def has_several_paths(function: UnivariateFunction, active: Collection[Value]) -> bool:
    """Whether a function has more than one path from x to y, keeps the shape, and is not only arithmetic."""
    shape = shape_of(function.y)
    if shape is None or None in shape or shape_of(function.x) != shape:
        return False
    is_transcendental = any(node.op_type in SMOOTH_FUNCTIONS for node in function.nodes)
    operands = (sum(value in active for value in node.inputs) for node in function.nodes)
    return is_transcendental and any(count > 1 for count in operands)


def is_scalar(value: Value) -> bool:
    """Whether a value is known to have one element."""
    shape = shape_of(value)
    return shape is not None and all(dim == 1 for dim in shape)

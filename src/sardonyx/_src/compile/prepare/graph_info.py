"""Queries over a prepared graph: shapes, element types, known elements, bound nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from sardonyx._src.compile.prepare.bound_node import BoundNode, is_typed
from sardonyx._src.compile.prepare.execution_order import execution_order
from sardonyx._src.compile.prepare.prepare import PreparedModel
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Graph, Node, Shape, TensorType, Value
from sardonyx._src.ir.dims import Expr, Known, dim_product, has_opaque_part, symbol
from sardonyx._src.ops.bind import attributes_of, schema_of
from sardonyx._src.ops.inference import Known as Elements

MAX_ELEMENTS = 1 << 40  # of a tensor, so that its size in bytes and its strides fit in 64 bits
BASE_ADDRESS = symbol("base address")
MAX_SIZE_ELEMENTS = 64  # of a tensor with elements that input sizes determine, which steps write


def has_room(size: Known) -> bool:
    """Whether a size plus a base address still is within the limited length of expressions."""
    return isinstance(size, int) or has_room_for_base(size)


@lru_cache(maxsize=1024)  # the tensors of a graph have few different sizes
def has_room_for_base(size: Expr) -> bool:
    return not has_opaque_part(size + BASE_ADDRESS)


class GraphInfo:
    """Read-only queries over a graph of a prepared model."""

    def __init__(self, prepared: PreparedModel, graph: Graph | None = None) -> None:
        """graph: a subgraph of the model; the model's own graph by default."""
        self.model, self.facts = prepared.model, prepared.facts
        self.graph: Graph = graph or prepared.model.graph
        self.sizes, self.data_dependent_sizes = prepared.sizes, prepared.data_dependent_sizes
        self.symbols = prepared.visible_symbols(self.graph)
        self.outputs = dict.fromkeys(self.graph.outputs)
        self._shapes: dict[
            Value, tuple[Known, ...] | None
        ] = {}  # the types of a prepared graph do not change
        self._bound: dict[Node, BoundNode | None] = {}
        self._dims: dict[Shape, tuple[Known, ...] | None] = {}  # many values have equal shapes
        self.order = execution_order(self.graph, self.shape)

    # --- shapes ------------------------------------------------------------------------------

    def shape(self, value: Value | None) -> tuple[Known, ...] | None:
        """The dims of a tensor, as numbers or expressions over sizes; None if kernels cannot hold the value."""
        if value is None:
            return None
        if value not in self._shapes:
            self._shapes[value] = self._shape(value)
        return self._shapes[value]

    def _shape(self, value: Value) -> tuple[Known, ...] | None:
        if not isinstance(value.type, TensorType) or value.type.shape is None:
            return None
        if value.type.dtype is DataType.STRING:
            return None
        shape = value.type.shape
        if shape not in self._dims:
            self._dims[shape] = self._known_dims(shape)
        return self._dims[shape]

    def _known_dims(self, shape: Shape) -> tuple[Known, ...] | None:
        dims = tuple(dim for dim in shape if dim is not None and self.is_size(dim))
        elements = math.prod(dim for dim in dims if isinstance(dim, int))
        if len(dims) < len(shape) or elements > MAX_ELEMENTS:
            return None
        return dims if has_room(dim_product(dims)) else None

    def known_shape(self, value: Value) -> tuple[Known, ...]:
        """The dims of a value that has a `shape`."""
        shape = self.shape(value)
        assert shape is not None, f"{value!r} has no shape"
        return shape

    def is_size(self, dim: Known) -> bool:
        """Whether a dim is determined by the sizes of the inputs, and by data-dependent sizes that a run binds."""
        if isinstance(dim, int):
            return dim >= 0
        return dim.symbols() <= self.symbols and not has_opaque_part(dim)

    def data_dependent_axes(self, value: Value) -> Mapping[int, str]:
        """The axes of a value with data-dependent lengths, with their symbols."""
        return self.data_dependent_sizes.get(value, {})

    # --- element types and elements ----------------------------------------------------------

    def dtype(self, value: Value) -> DataType:
        """The element type of a value that is known to be a tensor."""
        assert isinstance(value.type, TensorType), f"{value!r} is no tensor"
        return value.type.dtype

    def dtype_of(self, value: Value | None) -> DataType | None:
        """The element type of a tensor; None if it is unknown, or the value is no tensor."""
        return value.type.dtype if value is not None and isinstance(value.type, TensorType) else None

    def elements(self, value: Value | None) -> Elements | None:
        """The known elements of a small tensor: numbers, or an object array of numbers, `Expr` and None."""
        return None if value is None else self.facts.elements(value)

    def vector(self, value: Value | None) -> Elements | None:
        """The known elements of a small vector, such as sizes, axes and counts; None for any other tensor."""
        elements = self.elements(value)
        return elements if elements is not None and elements.ndim == 1 else None

    def size_elements(self, value: Value) -> list[Known] | None:
        """The elements of a small int64 tensor that a node computes from input sizes only; None for any other value.

        All elements are numbers, or expressions that can be arguments of steps.
        """
        elements = None if value.producer is None else self.elements(value)
        if elements is None or self.dtype_of(value) is not DataType.INT64 or self.shape(value) is None:
            return None
        dims = [e if isinstance(e, Expr) or e is None else int(e) for e in elements.flat]
        known = [dim for dim in dims if isinstance(dim, int) or (dim is not None and self.is_argument(dim))]
        return known if len(known) == elements.size <= MAX_SIZE_ELEMENTS else None

    def is_argument(self, size: Expr) -> bool:
        """Whether a size can be an argument of a step: input sizes determine it, and its expression is short enough."""
        return self.is_size(size) and has_room(size)

    # --- nodes -------------------------------------------------------------------------------

    def bind_node(self, node: Node) -> BoundNode | None:
        """The node with its signature; None for calls of functions, and for nodes that fail type checking."""
        if node not in self._bound:  # cached, since matchers at the producer of each input ask
            self._bound[node] = self._bind_node(node)
        return self._bound[node]

    def _bind_node(self, node: Node) -> BoundNode | None:
        is_function = (node.domain, node.op_type, node.overload) in self.model.functions
        if is_function or self.facts.is_rejected(node):
            return None
        schema = schema_of(node, self.model.opset_imports)
        return BoundNode(node, schema, attributes_of(node, schema, {})) if is_typed(node, schema) else None

    def consumers(self, value: Value) -> list[Node]:
        """The nodes that read a value, those of subgraphs included."""
        return [node for node, _ in value.uses]

    def sole_consumer(self, value: Value) -> Node | None:
        """The only reader of a value, if it is a node of this graph and the value is no output."""
        if len(value.uses) != 1 or value in self.outputs:
            return None
        node = value.uses[0][0]
        return node if node.graph is self.graph else None

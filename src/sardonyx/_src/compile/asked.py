"""What lowerings ask of a prepared graph: shapes, element types, known elements, and who reads a value."""

from __future__ import annotations

import math

from sardonyx._src.compile.prepare import Prepared
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Expr, Known, dim_min, known_equal, known_ge
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.inference import Known as Elements

MOST_ELEMENTS = 1 << 40  # of a tensor: none is larger, and their bytes and strides are far from overflowing
MOST_NUMBERS = 64  # of a tensor whose elements are worked out with the sizes


class Asked:
    """A prepared graph, and what its runs are held to besides (`demands`)."""

    def __init__(self, prepared: Prepared, graph: Graph | None = None) -> None:
        """graph: the subgraph that is asked about, if it is not the model's own."""
        self.model, self.facts = prepared.model, prepared.facts
        self.graph: Graph = graph or prepared.model.graph
        self.sizes = prepared.sizes
        self.outputs = dict.fromkeys(self.graph.outputs)
        self.demands: dict[tuple[Known, Known], None] = {}

    def shape(self, value: Value | None) -> tuple[Known, ...] | None:
        """The dims of a tensor that kernels can hold: numbers, or expressions over sizes of inputs; else None."""
        if value is None or not isinstance(value.type, TensorType) or value.type.shape is None:
            return None
        if value.type.dtype is DataType.STRING:
            return None
        found = tuple(dim for dim in value.type.shape if dim is not None and self.is_size(dim))
        if (
            len(found) < len(value.type.shape)
            or math.prod(d for d in found if isinstance(d, int)) > MOST_ELEMENTS
        ):
            return None
        return found

    def is_size(self, dim: Known) -> bool:
        """Whether a dim is decided by the sizes of the inputs."""
        if isinstance(dim, int):
            return dim >= 0
        return dim.symbols() <= self.sizes.keys() and dim.substitute({}) is not None

    def known_shape(self, value: Value) -> tuple[Known, ...]:
        shape = self.shape(value)
        assert shape is not None, f"{value!r} has no shape"
        return shape

    def agree(self, a: Known, b: Known) -> bool:
        """Whether two dims are equal in every run of the program.

        Where that is not known, but both depend on the same sizes, as `min(n, 512)` and `n` do, runs are held to it.
        """
        found = known_equal(a, b)
        if found is None and isinstance(a, Expr) and isinstance(b, Expr) and a.symbols() & b.symbols():
            self.demands[a, b] = None
            return True
        return bool(found)

    def is_at_least(self, a: Known, b: Known) -> bool:
        """Whether a dim is no less than another one in every run; where that is not known, runs are held to it."""
        found = known_ge(a, b)
        if found is None:
            self.demands[dim_min(a, b), b] = None
        return found is not False

    def stretches(self, size: Known, whole: Known) -> bool:
        """Whether a dim broadcasts to another one in every run, as one that is equal or 1 does.

        Where that is not known, runs are held to it.
        """
        if size == 1 or known_equal(size, whole):
            return True
        if isinstance(size, int) or known_equal(size, whole) is False:
            return self.agree(size, whole)
        fault = (size - whole) * (size - 1)
        if not isinstance(fault, int) and fault.substitute({}) is None:
            return False
        self.demands[fault, 0] = None
        return True

    def dtype(self, value: Value) -> DataType:
        assert isinstance(value.type, TensorType), f"{value!r} is no tensor"
        return value.type.dtype

    def dtype_of(self, value: Value | None) -> DataType | None:
        """The element type of a tensor, if that is known."""
        return value.type.dtype if value is not None and isinstance(value.type, TensorType) else None

    def elements(self, value: Value | None) -> Elements | None:
        """What is known of a small tensor's elements: numbers, or an object array of numbers, `Expr` and None."""
        return None if value is None else self.facts.elements(value)

    def numbers(self, value: Value) -> list[Known] | None:
        """The elements of a small tensor of int64 that a node makes, if sizes of inputs decide them all."""
        elements = None if value.producer is None else self.elements(value)
        if elements is None or self.dtype_of(value) is not DataType.INT64 or self.shape(value) is None:
            return None
        found = [one if isinstance(one, Expr) else None if one is None else int(one) for one in elements.flat]
        known = [one for one in found if one is not None and (isinstance(one, int) or self.is_size(one))]
        return known if len(known) == elements.size <= MOST_NUMBERS else None

    def readers(self, value: Value) -> list[Node]:
        """The nodes that read a value, in subgraphs too."""
        return [node for node, _ in value.uses]

    def only_reader(self, value: Value) -> Node | None:
        """The one node of this graph that reads a value, if nobody else does."""
        if len(value.uses) != 1 or value in self.outputs:
            return None
        node = value.uses[0][0]
        return node if node.graph is self.graph else None

"""The context and the result of infer and value facets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InferenceError
from sardonyx._src.ir import Array, Graph, Shape, SparseTensorType, TensorType, Type
from sardonyx._src.ir.dims import Dim, Expr, dim_min, known_ge
from sardonyx._src.ir.dims import Known as KnownDim

# Known elements of a tensor: an array of its element type if all are numbers, otherwise an object array of int, Expr and
# None, which is an unknown element.
Known: TypeAlias = Array | np.ndarray[tuple[Any, ...], np.dtype[np.object_]]
Result: TypeAlias = "Type | Sequence[Type | None] | None"
DimPair: TypeAlias = tuple[KnownDim, KnownDim]
Infer: TypeAlias = Callable[[Graph, Sequence["Type | None"], Sequence["Known | None"]], list["Type | None"]]


@dataclass(frozen=True, slots=True)
class Iteration:
    """The outputs of a subgraph in one iteration: types and known elements."""

    types: Sequence[Type | None]
    known: Sequence[Known | None]


@dataclass(slots=True)
class Inference:
    """A node as inference sees it.  Unknown types, shapes and dims are None; facets then return less precise types.

    inputs: the type of each input; None if it is not known
    given: for each input, whether it is given rather than omitted
    attributes: the values that kernels are given, including defaults
    outputs: the number of outputs of the node
    known: the known elements of each input; None if nothing is known of them
    infer_graph: infers the output types of a subgraph
    where: the location of the node, for errors
    fresh: returns a new symbol, for a size that depends on data
    equal_dims: the sizes recorded by `require_equal`
    """

    op_type: str
    version: int
    inputs: Sequence[Type | None]
    given: Sequence[bool]
    attributes: Mapping[str, object]
    outputs: int
    known: Sequence[Known | None] = ()
    infer_graph: Infer | None = None
    where: str = ""
    fresh: Callable[[], Expr] | None = field(default=None)
    equal_dims: list[DimPair] = field(default_factory=list, init=False)

    def has(self, i: int) -> bool:
        """Whether input i is given."""
        return i < len(self.given) and self.given[i]

    def type(self, i: int) -> Type | None:
        """The type of input i; None if it is omitted or not known."""
        return self.inputs[i] if i < len(self.inputs) else None

    def tensor(self, i: int) -> TensorType | None:
        """The type of input i as a tensor, dense or sparse; raises InferenceError when it is something else."""
        type = self.inputs[i] if i < len(self.inputs) else None
        if type is None or isinstance(type, TensorType):
            return type
        if isinstance(type, SparseTensorType):
            return TensorType(type.dtype, type.shape)
        return self.fail(f"input {i} is {type}, not a tensor")

    def dtype(self, i: int) -> DataType | None:
        tensor = self.tensor(i)
        return None if tensor is None else tensor.dtype

    def shape(self, i: int) -> Shape | None:
        tensor = self.tensor(i)
        return None if tensor is None else tensor.shape

    def rank(self, i: int) -> int | None:
        shape = self.shape(i)
        return None if shape is None else len(shape)

    def value(self, i: int) -> Known | None:
        """The known elements of input i: numbers, or an object array with expressions."""
        return self.known[i] if i < len(self.known) else None

    def dims(self, i: int) -> tuple[Dim, ...] | None:
        """The elements of input i, a vector or scalar of integers, as dims; None if not even their number is known."""
        elements = self.value(i)
        if elements is not None:
            return tuple(e if isinstance(e, Expr | int) else whole(e) for e in elements.reshape(-1).tolist())
        shape = self.shape(i)
        if shape is None or len(shape) > 1 or not all(isinstance(d, int) for d in shape):
            return None
        count = int(np.prod([d for d in shape if isinstance(d, int)], dtype=np.int64))
        return (None,) * count if count <= 64 else None

    def constant(self, i: int) -> Array | None:
        """The elements of input i if all are known numbers."""
        elements = self.value(i)
        return None if elements is None or elements.dtype == object else elements

    def integer(self, name: str, default: int | None = None) -> int:
        """The value of an integer attribute."""
        value = self.attributes.get(name, default)
        assert isinstance(value, int), f"{self.op_type} has no integer attribute {name}"
        return value

    def number(self, name: str) -> float:
        """The value of an attribute that is a number."""
        value = self.attributes.get(name)
        assert isinstance(value, float | int), f"{self.op_type} has no number {name}"
        return float(value)

    def integers(self, name: str) -> tuple[int, ...] | None:
        """The value of an attribute that is a list of integers, or None where it is absent."""
        value = self.attributes.get(name)
        assert value is None or isinstance(value, tuple), f"{self.op_type}.{name} is no list"
        return value

    def axis(self, axis: int, rank: int) -> int:
        """An axis counted from the front; raises InferenceError when it lies outside of the rank."""
        if not -rank <= axis < rank:
            self.fail(f"axis {axis} lies outside of rank {rank}", about="axis")
        return axis % rank

    def axes(self, axes: Sequence[int], rank: int) -> tuple[int, ...]:
        """Axes counted from the front; raises InferenceError for an axis outside of the rank or named twice."""
        normalized = tuple(self.axis(axis, rank) for axis in axes)
        if len(set(normalized)) < len(normalized):
            self.fail(f"axes {list(axes)} name an axis twice")
        return normalized

    def require_equal(self, dim: Dim, *others: Dim) -> None:
        """Records sizes that are equal to `dim` in every valid run whose result has the inferred type, as far as they are known.

        The compiler proves or guards each pair, and the checker compares the pairs of a model with one another.
        """
        if dim is not None:
            self.equal_dims += [(dim, other) for other in others if other is not None and other != dim]

    def require_broadcast(self, size: Dim, whole: Dim) -> None:
        """Records that a size is 1 or equal to `whole` in every valid run."""
        if (isinstance(size, int) and size != 1) or known_ge(size, 2):
            self.require_equal(whole, size)
        elif size != 1 and size != whole and size is not None and whole is not None:
            self.require_equal(0, (size - whole) * (size - 1))

    def require_at_most(self, size: Dim, limit: Dim) -> None:
        """Records that a size is at most `limit` in every valid run."""
        self.require_equal(size, dim_min(size, limit))

    def new_dim(self) -> Dim:
        """A new symbol for a data-dependent size."""
        return self.fresh() if self.fresh is not None else None

    def subgraph(
        self,
        name: str,
        inputs: Sequence[Type | None],
        known: Sequence[Known | None] = (),
        *,
        is_certain: bool = True,
    ) -> list[Type | None] | None:
        """The output types of a graph attribute for inputs of these types; None if they are not known.

        is_certain: whether every run of the node runs the graph; otherwise a contradiction in it may never matter
        """
        graph = self.attributes.get(name)
        if self.infer_graph is None or not isinstance(graph, Graph):
            return None
        return self.infer_graph(graph, inputs, known)

    def subgraph_elements(self, name: str) -> Sequence[Known | None] | None:
        """The known elements of the outputs of a graph attribute, after a call of `subgraph`."""
        return None

    def max_iterations(self, name: str) -> int:
        """The largest number of iterations of a graph attribute that `iteration` may be called for."""
        return 0

    def iteration(
        self, name: str, inputs: Sequence[Type | None], known: Sequence[Known | None]
    ) -> Iteration | None:
        """The outputs of one iteration of a graph attribute; None if they are not known or invalid.

        Call `subgraph` afterwards as well: its types hold in every iteration, these only in one.
        """
        return None

    def infer_unused_subgraph(self, name: str) -> None:
        """Infer the types of the values in a graph attribute that will not run; errors in it are ignored."""

    def set_output_elements(self, known: Sequence[Known | None]) -> None:
        """Records elements of the node's outputs that the infer facet has computed."""

    def requested_output(self) -> int:
        """The output whose elements a value facet is to compute; facets that do not call this compute output 0."""
        return 0

    def fail(self, why: str, *, about: Literal["", "axis", "broadcast", "element type"] = "") -> NoReturn:
        """Raises InferenceError at this node."""
        raise InferenceError(f"{self.op_type}: {why}", location=self.where, about=about)


def whole(element: float | None) -> int | None:
    """A float with an integral value as int; None for any other."""
    return int(element) if isinstance(element, float) and element.is_integer() else None

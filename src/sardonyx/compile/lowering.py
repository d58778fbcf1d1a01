"""From nodes to steps: the walk over a prepared graph, and what lowerings may ask and do.

A value may be in several forms at once: tensors in the order of its dims whose strides differ, as a plain one, a view
of another value's elements, or one whose channels are innermost.  A lowering asks for the form that it wants, and gets
a copy where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import numpy as np

from sardonyx.compile.dequantizing import dequantized_constant
from sardonyx.compile.destinations import Destinations
from sardonyx.compile.llvm.kernels import prepare
from sardonyx.compile.llvm.target import Target
from sardonyx.compile.moves.copy import copied
from sardonyx.compile.moves.words import written
from sardonyx.compile.nodes import Call, is_typed
from sardonyx.compile.prepare import Prepared
from sardonyx.compile.program import Action, HostCall, Program, Upload
from sardonyx.compile.registry import facets
from sardonyx.compile.step import Step
from sardonyx.compile.tensor import Storage, Tensor, row_major, width
from sardonyx.dtypes import DataType
from sardonyx.ir.dims import Expr, Known, known_equal
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.tensors import Array
from sardonyx.ir.tensors import Tensor as Literal
from sardonyx.ir.types import TensorType
from sardonyx.ir.walk import captured
from sardonyx.ops.bind import attributes_of, schema_of
from sardonyx.ops.inference import Known as Elements

T = TypeVar("T")
MOST_ELEMENTS = 1 << 40  # of a tensor: none is larger, and their bytes and strides are far from overflowing
MOST_NUMBERS = 64  # of a tensor whose elements are worked out with the sizes


class Lowering:
    """A graph on its way to a program."""

    def __init__(self, prepared: Prepared, target: Target) -> None:
        self.model, self.facts, self.target = prepared.model, prepared.facts, target
        self.graph: Graph = prepared.model.graph
        self.sizes = prepared.sizes
        self.actions: list[Action] = []
        self.forms: dict[Value, list[Tensor]] = {}
        self.done: set[Node] = set()
        self.outputs = dict.fromkeys(self.graph.outputs)
        self.inputs: dict[Value, Tensor] = {}
        self.destinations = Destinations(self)
        self.status = Tensor(DataType.INT64, (1,), (1,), Storage("status", 8, "status"))
        self.names: tuple[str, ...] = ()  # of the nodes that the steps put down now stand for
        self.demands: dict[tuple[Known, Known], None] = {}
        self.order = {node: i for i, node in enumerate(self.graph.nodes)}
        self.deferred: dict[Value, Callable[[], None]] = {}  # values that are made when somebody asks
        self.widened = 0  # bytes of constants that were dequantized
        self._constants: dict[object, Tensor] = {}
        self._kept: dict[object, object] = {}

    def program(self) -> Program:
        """Lowers every node, and puts the outputs where callers get them."""
        for value in self.graph.inputs:
            self.take(value)
        for node in self.graph.nodes:
            if node not in self.done:
                self.node(node)
        outputs = {value: self.handed_out(value) for value in self.outputs}
        return Program(
            self.model,
            self.actions,
            self.sizes,
            self.inputs,
            outputs,
            status=self.status,
            demands=tuple(self.demands),
        )

    def take(self, value: Value) -> None:
        """An input of the graph, if it is a tensor that kernels can read."""
        shape = self.shape(value)
        if shape is not None:
            dtype = self.dtype(value)
            storage = Storage("input", bytes_of(dtype, shape), value.name)
            self.inputs[value] = Tensor(dtype, shape, row_major(shape), storage)
            self.forms[value] = [self.inputs[value]]

    def node(self, node: Node) -> None:
        """One node: by the lowering of its operator, or as a call of its kernel; nothing if sizes say what it makes."""
        if all(self.numbers(value) is not None for value in node.outputs):
            self.done.add(node)
            return
        call = self.call(node)
        facet = None if call is None else facets().get((node.domain, node.op_type, call.version))
        self.names = (node.name or node.outputs[0].name,)
        if call is None or facet is None or not facet(call, self):
            self.actions.append(self.host_call(node))
        self.done.add(node)

    def call(self, node: Node) -> Call | None:
        """The node with its signature; None for functions, and for nodes that cannot run or are not typed."""
        if (node.domain, node.op_type, node.overload) in self.model.functions or self.facts.refuses(node):
            return None
        schema = schema_of(node, self.model.opset_imports)
        if not is_typed(node, schema):
            return None
        return Call(node, schema, attributes_of(node, schema, {}))

    def host_call(self, node: Node) -> HostCall:
        read = [v for v in node.inputs if v is not None]
        inside = {
            v for graph in node.subgraphs for v in captured(graph)
        }  # bodies may read them again and again
        read += sorted(inside, key=lambda v: v.name)
        for value in read:
            if not self.forms.get(value) and (value in self.deferred or self.numbers(value) is not None):
                self.strided(value)
        there = [v for v in dict.fromkeys(read) if v.initializer is None and self.forms.get(v)]
        takes = {v: self.dense(v) if v in inside else self.forms[v][0] for v in there}
        return HostCall(node, takes)

    def handed_out(self, value: Value) -> Tensor | None:
        """The tensor in which a caller gets an output; None if it stays on the host."""
        if value in self.deferred:
            self.strided(value)
        forms = self.forms.get(value, [])
        for form in forms:
            if form.storage.role == "output" and form.storage.name == value.name:
                return form
        numbers = None if forms else self.numbers(value)
        if not forms and numbers is None:
            return None
        made = self.allocated(value, "output")
        self.names = (value.name,)
        if numbers is not None:
            self.emit(written(made, numbers))
            return made
        self.emit(copied(forms[0], made))
        return made

    # --- what lowerings ask ------------------------------------------------------------------

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

    def agree(self, a: Known, b: Known) -> bool:
        """Whether two dims are equal in every run of the program.

        Where that is not known, but both depend on the same sizes, as `min(n, 512)` and `n` do, runs are held to it.
        """
        found = known_equal(a, b)
        if found is None and isinstance(a, Expr) and isinstance(b, Expr) and a.symbols() & b.symbols():
            self.demands[a, b] = None
            return True
        return bool(found)

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

    def constant(self, value: Value | None) -> Array | None:
        """The elements of a value that is known beforehand."""
        literal = None if value is None else value.initializer
        if value is None or isinstance(literal, Literal):
            return literal.numpy() if isinstance(literal, Literal) else None
        return dequantized_constant(self, value) if value in self.deferred else None

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

    # --- forms -------------------------------------------------------------------------------

    def is_native(self, value: Value | None) -> bool:
        """Whether a tensor of the value can be had here: it is made already, and its sizes are known."""
        if value is None or self.shape(value) is None:
            return False
        return bool(self.forms.get(value)) or self.constant(value) is not None or self.is_made(value)

    def is_made(self, value: Value) -> bool:
        """Whether the host has it: an input, or what a node behind us made."""
        return value.producer is None or value.producer in self.done

    def strided(self, value: Value) -> Tensor:
        """The value in any form."""
        if not self.forms.get(value) and value in self.deferred and self.constant(value) is None:
            self.deferred[value]()
        if not self.forms.get(value):
            self.forms[value] = [self.first_form(value)]
        return self.forms[value][0]

    def first_form(self, value: Value) -> Tensor:
        elements = self.constant(value)
        if elements is not None:
            return self.constant_tensor(elements, (value, "plain"))
        tensor = self.temporary(self.dtype(value), self.known_shape(value), value.name)
        numbers = self.numbers(value)
        if numbers is None:
            self.actions.append(Upload(value, tensor))
        else:
            self.emit(written(tensor, numbers))
        return tensor

    def dense(self, value: Value) -> Tensor:
        """The value with its elements in a row."""
        first = self.strided(value)
        for form in self.forms[value]:
            if form.is_dense:
                return form
        return self.copy(value, first, self.temporary(first.dtype, first.shape, value.name))

    def rows(self, value: Value) -> Tensor:
        """The value with the elements of its last dim in a row, and rows one pitch apart."""
        self.strided(value)
        for form in self.forms[value]:
            if form.pitch is not None:
                return form
        return self.dense(value)

    def channels_last(self, value: Value) -> Tensor:
        """A value [N, C, ...] as a tensor [N, ..., C] whose rows of channels are dense and one pitch apart."""
        first = self.strided(value)
        order = last_order(first.rank)
        for form in self.forms[value]:
            if (found := form.permuted(order)).pitch is not None:
                return found
        shape = first.permuted(order).shape
        made = self.temporary(first.dtype, shape, value.name)
        return self.copy(value, first, made.permuted(first_order(first.rank))).permuted(order)

    def has_channels_last(self, value: Value) -> bool:
        """Whether the value is there with its channels innermost, and not plain."""
        forms = self.forms.get(value, [])
        order = last_order(forms[0].rank) if forms and forms[0].rank > 2 else ()
        return bool(order) and any(f.permuted(order).pitch is not None and not f.is_dense for f in forms)

    def copy(self, value: Value, source: Tensor, made: Tensor) -> Tensor:
        """Puts down a copy into another form of the value."""
        self.emit(copied(source, made))
        self.forms[value].append(made)
        return made

    # --- what lowerings do -------------------------------------------------------------------

    def known_shape(self, value: Value) -> tuple[Known, ...]:
        shape = self.shape(value)
        assert shape is not None, f"{value!r} has no shape"
        return shape

    def allocated(self, value: Value, role: str = "arena") -> Tensor:
        """Memory for a value, plain."""
        shape, dtype = self.known_shape(value), self.dtype(value)
        assert role in ("arena", "output"), f"nobody allocates {role}"
        storage = Storage("output" if role == "output" else "arena", bytes_of(dtype, shape), value.name)
        return Tensor(dtype, shape, row_major(shape), storage)

    def result(self, value: Value, *, channels_last: bool = False) -> Tensor:
        """Memory for a result, bound to it: in its place in a concatenation, in the caller's array, or in the arena.

        With `channels_last` the tensor answered is [N, ..., C] for a value [N, C, ...].
        """
        made = self.destinations.of(value, channels_last=channels_last)
        shape = self.known_shape(value)
        last = last_order(len(shape))
        if made is None and channels_last and len(shape) > 2:
            placed = tuple(shape[i] for i in last)
            made = self.temporary(self.dtype(value), placed, value.name).permuted(first_order(len(shape)))
        if made is None:
            made = self.allocated(value, "output" if value in self.outputs else "arena")
        self.bind(value, made)
        return made.permuted(last) if channels_last else made

    def defer(self, value: Value, make: Callable[[], None]) -> None:
        """Leaves a value to whoever asks for it first; others may take what it is made of. `make` binds it."""

        def made() -> None:
            names, self.names = self.names, (value.name,)
            make()
            self.names = names

        self.deferred[value] = made

    def bind(self, value: Value, *forms: Tensor) -> None:
        """Says in which tensors a value is from here on."""
        self.forms[value] = [*forms]

    def temporary(self, dtype: DataType, shape: Sequence[Known], name: str) -> Tensor:
        """Dense memory of a program's own."""
        shape = tuple(shape)
        return Tensor(dtype, shape, row_major(shape), Storage("arena", bytes_of(dtype, shape), name))

    def constant_tensor(self, elements: Array, key: object = None) -> Tensor:
        """A tensor of the program's own data; the same key stands for the same elements."""
        found = None if key is None else self._constants.get(key)
        if found is None:
            data = np.ascontiguousarray(elements).reshape(elements.shape)  # which makes one dim of none
            storage = Storage("constant", data.nbytes, "constant", data)
            found = Tensor(DataType.of(data.dtype), data.shape, row_major(data.shape), storage)
            if key is not None:
                self._constants[key] = found
        return found

    def kept(self, key: object, make: Callable[[], T]) -> T:
        """What is made once for this key."""
        if key not in self._kept:
            self._kept[key] = make()
        return cast(T, self._kept[key])

    def emit(self, *steps: Step) -> None:
        """Puts down steps, in the name of the nodes that are being lowered."""
        for step in steps:
            prepare(step.kernel)
        self.actions += [step if step.nodes else step.named(self.names) for step in steps]


def bytes_of(dtype: DataType, shape: Sequence[Known]) -> Known:
    total: Known = width(dtype)
    for dim in shape:
        total = total * dim
    return total


def last_order(rank: int) -> tuple[int, ...]:
    """The order of dims that puts channels last."""
    return (0, *range(2, rank), 1) if rank > 1 else tuple(range(rank))


def first_order(rank: int) -> tuple[int, ...]:
    """The order of dims that puts them back behind the batch."""
    return (0, rank - 1, *range(1, rank - 1)) if rank > 1 else tuple(range(rank))

"""From nodes to steps: the walk over a prepared graph, and what lowerings do."""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile import status
from sardonyx._src.compile.destinations import Destinations
from sardonyx._src.compile.forms import Forms
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.moves.words import written
from sardonyx._src.compile.nodes import Call, is_typed
from sardonyx._src.compile.prepare import Prepared
from sardonyx._src.compile.program import HostCall, Program
from sardonyx._src.compile.registry import facet_of
from sardonyx._src.compile.tensor import Storage, Tensor, bytes_of, first_order, last_order, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.walk import captured
from sardonyx._src.ops.bind import attributes_of, schema_of


class Lowering(Forms):
    """A graph on its way to a program."""

    def __init__(self, prepared: Prepared, target: Target, graph: Graph | None = None) -> None:
        super().__init__(prepared, graph)
        self.target = target
        self.inputs: dict[Value, Tensor] = {}
        self.destinations = Destinations(self)
        self.status = Tensor(
            DataType.INT64, (1,), (1,), Storage("status", status.WORDS * status.WORD, "status")
        )
        self.order = {node: i for i, node in enumerate(self.graph.nodes)}

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
        facet = None if call is None else facet_of(node.domain, node.op_type, call.version)
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

    # --- what lowerings do -------------------------------------------------------------------

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

"""Every change of a model that is being rewritten goes through an `Edit`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sardonyx._src.ir.build import attribute
from sardonyx._src.ir.clone import Copier
from sardonyx._src.ir.graph import Attribute, Function, Graph, Model, Node, Value
from sardonyx._src.ir.inline import hand_over, inline, rename
from sardonyx._src.ir.names import Names
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ir.types import TensorType, Type
from sardonyx._src.ir.walk import nodes
from sardonyx._src.rewrite.facts import root_of
from sardonyx._src.rewrite.view import View

GROWTH = 1 << 20


class Edit(View):
    """Changes that keep a model whole: edges, names that are public, types of what is new.

    `touched` collects the nodes that are worth another look after a change.
    """

    def __init__(self, model: Model, growth: int = GROWTH) -> None:
        """`growth`: bytes that constants may add to the file, all in all."""
        super().__init__(model)
        self.growth = growth
        self.touched: dict[Node, None] = {}
        self.gone: set[Node] = set()
        self.grown = 0  # bytes that passes have added to the weights
        self.inlined = 0  # nodes of bodies that have been put in the place of calls
        self._names: dict[Graph, Names] = {}

    # --- values in the place of others

    def forward(self, value: Value, other: Value) -> bool:
        """Makes whatever reads `value`, an output of a node, read `other`; answers whether that was possible.

        A public name stays: `value` then becomes the output of the node that makes `other`, which is refused where
        that is public as well or made elsewhere.
        """
        if value is other or not self.is_free(value):
            return value is not other and self.hand_over(value, other)
        self.touch_readers(value)
        value.replace_by(other)
        if value.producer is not None:
            self.touch(value.producer)
        return True

    def hand_over(self, value: Value, other: Value) -> bool:
        """Makes a public value the output of the node that makes `other`, which nothing reads any more."""
        giver, taker = value.producer, other.producer
        if giver is None or taker is None or taker.graph is not giver.graph or not self.is_free(other):
            return False
        if taker.device_configurations:
            return False
        self.touch_readers(value)
        self.touch_readers(other)
        taker.take_output(other.index, value)
        self.touch(taker)
        self.touch(giver)
        return True

    # --- nodes

    def make(
        self,
        op_type: str,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, object] | None = None,
        *,
        before: Node,
        outputs: int = 1,
        domain: str = "",
        name: str = "",
        value_names: Sequence[str] = (),
    ) -> Node:
        """A new node just before another one, with the types of its outputs; an attribute of None is left out.

        `name` and `value_names` are what node and outputs should be called, if that is free.
        """
        graph = before.graph
        assert graph is not None, f"{before!r} is in no graph"
        names = self.names(graph)
        stem = name or (f"{before.name}/{op_type}" if before.name else "")
        wanted = [*value_names, *[f"{stem or op_type}_output"] * (outputs - len(value_names))]
        made = [Value(names.fresh(w)) for w in wanted]
        kept = {k: attribute(k, v) for k, v in (attributes or {}).items() if v is not None}
        node = Node(op_type, trimmed(inputs), made, kept, domain=domain)
        node.name = names.fresh(stem) if stem else ""
        graph.insert_before(before, node)
        self.facts.type_node(node, self.imports(graph))
        self.touch(node)
        return node

    def replace(
        self,
        old: Node,
        op_type: str,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, object] | None = None,
        *,
        domain: str = "",
    ) -> bool:
        """Puts a node that makes the same value in the place of one, which goes; answers whether it has been done.

        The new node keeps output, name, doc and metadata of the old one.  It is not done where inference gives the
        new output another type than the old one, as where a constant of higher rank had widened it.
        """
        node = self.make(op_type, inputs, attributes, before=old, domain=domain)
        if not fits(node.outputs[0].type, old.outputs[0].type):
            self.remove(node)
            return False
        self.take_place(node, old)
        return True

    def take_place(self, node: Node, old: Node) -> None:
        """Gives the first output, name, doc and metadata of an old node to a new one, and removes the old one."""
        node.name, node.doc = old.name, old.doc
        if old.has_metadata:
            node.metadata.update(old.metadata)
        found = node.outputs[0].type
        self.touch_readers(old.outputs[0])
        node.take_output(0, old.outputs[0])
        node.outputs[0].type = node.outputs[0].type or found
        self.prune(old)

    def update(
        self, node: Node, *, inputs: Sequence[Value | None] | None = None, **attributes: object
    ) -> None:
        """Changes inputs and attributes of a node that goes on making the same value; an attribute of None goes."""
        before = node.inputs
        for name, value in attributes.items():
            if value is None:
                node.attributes.pop(name, None)
            else:
                node.set_attribute(attribute(name, value))
        if inputs is not None:
            node.set_inputs(trimmed(inputs))
        for one in before:
            self.prune_maker(one)
        self.touch(node)
        for output in node.outputs:
            self.touch_readers(output)

    def set_attribute(self, node: Node, one: Attribute) -> None:
        node.set_attribute(one)
        self.touch(node)

    def remove(self, node: Node) -> None:
        """Takes out a node whose outputs nobody reads."""
        makers = [v for v in node.inputs if v is not None]
        for graph in node.subgraphs:
            for inner in nodes(graph):
                self.gone.add(inner)
                makers += [v for v in inner.inputs if v is not None]
        assert node.graph is not None, f"{node!r} is in no graph"
        node.graph.remove(node)
        self.gone.add(node)
        for value in makers:
            self.touch_maker(value)

    def prune(self, node: Node) -> None:
        """Takes out a node if nobody reads its outputs, and then those that only it had read."""
        pending = [node]
        while pending:
            one = pending.pop()
            if one in self.gone or one.graph is None or not self.is_dead(one):
                continue
            makers = [v.producer for v in one.inputs if v is not None and v.producer is not None]
            self.remove(one)
            pending += makers

    def prune_maker(self, value: Value | None) -> None:
        if value is not None and value.producer is not None:
            self.prune(value.producer)

    def is_dead(self, node: Node) -> bool:
        return all(not v._uses and self.is_free(v) for v in node.outputs)

    # --- graphs in the place of nodes

    def splice(self, node: Node, graph: Graph) -> None:
        """Puts what a subgraph of a node does in the place of the node, whose outputs are the subgraph's from now on."""
        assert graph.parent is node, f"{graph!r} is no subgraph of {node!r}"
        self.hand_over_all(node, self.copy(graph, (), before=node))

    def copy(self, graph: Graph, inputs: Sequence[Value | None], *, before: Node) -> list[Value]:
        """Puts copies of the nodes of a subgraph before a node; `inputs` stand for its inputs.  Hands out its results."""
        place = before.graph
        assert place is not None, f"{before!r} is in no graph"
        names, copier = self.names(place), Copier(dict(zip(graph.inputs, inputs, strict=True)))
        for value in graph.initializers.values():
            copy = copier.value(value)
            copy.name = names.fresh(copy.name)
            place.add_initializer(copy)
            if isinstance(copy.initializer, Tensor):
                self.facts.note(copy, copy.initializer)
        made = []
        for inner in graph.nodes:
            copied = place.insert_before(before, copier.node(inner))
            rename(copied, Node(""), names)
            made.append(copied)
        self.welcome(made)
        return [copier.found(v) for v in graph.outputs]

    def hand_over_all(self, node: Node, results: Sequence[Value | None]) -> None:
        """Makes the outputs of a node those of the nodes before it that make `results`, and removes it."""
        assert node.graph is not None, f"{node!r} is in no graph"
        self.welcome(hand_over(node, list(results), node.graph))
        for output in node.outputs:
            self.touch_readers(output)
        self.remove(node)

    def inline(self, node: Node, function: Function) -> None:
        """Puts the body of a function in the place of a call of it; both go by the same operators."""
        assert node.graph is not None, f"{node!r} is in no graph"
        makers = [v for v in node.inputs if v is not None]
        made = inline(node, function, self.names(node.graph))
        self.gone.add(node)
        self.welcome(made)
        for value in makers:
            self.touch_maker(value)

    def welcome(self, made: Iterable[Node]) -> None:
        """Types nodes that have come from elsewhere, in their order, and has them looked at."""
        for node in made:
            self.facts.type_node(node, self.imports_of(node))
            for one in (node, *(n for graph in node.subgraphs for n in nodes(graph))):
                self.touch(one)
            for value in node.outputs:
                self.touch_readers(value)

    # --- constants

    def constant_of(self, data: Array | Tensor, name: str, *, before: Node) -> Value:
        """A constant that nodes at that place can read: an initializer of the outermost graph, in a function's body a
        Constant.  Up to IR version 3, where initializers are inputs, it is an input as well."""
        tensor = data if isinstance(data, Tensor) else Tensor.of(data)
        graph = before.graph
        assert graph is not None, f"{before!r} is in no graph"
        root = root_of(graph)
        if root.function is not None:
            node = self.make("Constant", (), {"value": tensor}, before=before, value_names=[name])
            return node.outputs[0]
        value = Value(self.names(root).fresh(name), TensorType(tensor.dtype, tensor.shape))
        value.initializer = named(tensor, value.name)
        if self.model.ir_version < 4:
            root.add_input(value)
        root.add_initializer(value)
        self.facts.note(value, value.initializer)
        return value

    def become_constant(self, value: Value, data: Array | Tensor) -> bool:
        """Puts a constant in the place of a node's output; a public name stays, as that of a Constant node."""
        node = value.producer
        assert node is not None, f"{value!r} is made by no node"
        if self.is_free(value):
            done = self.forward(value, self.constant_of(data, value.name, before=node))
        elif node.op_type == "Constant":
            return False
        else:
            tensor = data if isinstance(data, Tensor) else Tensor.of(data)
            made = self.make("Constant", (), {"value": tensor}, before=node)
            done = self.forward(value, made.outputs[0])
        self.prune(node)
        return done

    def remove_initializer(self, value: Value) -> None:
        """Takes out an initializer that nobody reads; up to IR version 3 the input of that name, too."""
        assert value.graph is not None and not value._uses, f"{value!r} is still read"
        graph = value.graph
        graph.remove_initializer(value)
        if value in graph.inputs:
            graph.remove_input(value)

    # --- names, and what to look at again

    def names(self, graph: Graph) -> Names:
        """The names that are taken where the graph's nodes can see them."""
        root = root_of(graph)
        key = root if root.function is not None else self.model.graph
        if key not in self._names:
            steps = self.model.training
            around = [g for s in steps for g in (s.initialization, s.algorithm) if g is not None]
            self._names[key] = Names([root] if root.function is not None else [self.model.graph, *around])
        return self._names[key]

    def touch(self, node: Node) -> None:
        self.touched[node] = None

    def touch_maker(self, value: Value) -> None:
        if value.producer is not None:
            self.touched[value.producer] = None
        for reader, _ in value.uses if len(value._uses) <= 1 else ():  # who is alone now may be merged
            self.touched[reader] = None

    def touch_readers(self, value: Value) -> None:
        for reader, _ in value.uses:
            self.touched[reader] = None

    def is_gone(self, node: Node) -> bool:
        """Whether a node has been removed, alone or with a node around it."""
        return node.graph is None or node in self.gone

    def forget(self, gone: Iterable[Node]) -> None:
        """Notes nodes that have left the model."""
        self.gone.update(gone)


def trimmed(inputs: Sequence[Value | None]) -> Sequence[Value | None]:
    """Inputs without those left out at the end."""
    result = list(inputs)
    while result and result[-1] is None:
        result.pop()
    return result


def named(tensor: Tensor, name: str) -> Tensor:
    """The tensor under a name, its data shared."""
    if tensor.name == name:
        return tensor
    result = Tensor(tensor.dtype, tensor.shape, tensor.storage, name)
    result.doc = tensor.doc
    return result


def fits(new: Type | None, old: Type | None) -> bool:
    """Whether a type may stand for another one: nothing that both state differs, and a known rank is known again."""
    if new is None or old is None:
        return True
    if not (isinstance(new, TensorType) and isinstance(old, TensorType)):
        return type(new) is type(old)
    if new.dtype is not old.dtype:
        return False
    if new.shape is None or old.shape is None:
        return old.shape is None
    if len(new.shape) != len(old.shape):
        return False
    pairs = zip(new.shape, old.shape, strict=True)
    return all(a == b for a, b in pairs if isinstance(a, int) and isinstance(b, int))

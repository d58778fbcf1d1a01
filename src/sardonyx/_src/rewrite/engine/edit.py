"""`Edit`: the only interface through which passes change a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sardonyx._src.ir import Array, Attribute, Function, Graph, Model, Node, Tensor, TensorType, Type, Value
from sardonyx._src.ir.build import attribute
from sardonyx._src.ir.call_counts import count_inlined_nodes
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.inline import inline, omitted_outputs, rename_definitions, transfer_outputs
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import nodes
from sardonyx._src.rewrite.engine.facts import outermost_graph
from sardonyx._src.rewrite.engine.view import View
from sardonyx._src.rewrite.support.evaluate import Evaluate, evaluate_node

DEFAULT_GROWTH_BYTES = 1 << 20
GROWTH_SHARE = 64  # one folded result may use 1/64 of the permitted growth, unless the caller states a limit


class Edit(View):
    """Changes a model: edges stay consistent, public values keep their names, and new values are typed.

    A value is public if anything outside the nodes refers to it by name, such as an output.  `touched` collects the nodes
    that passes have to visit again after a change.
    """

    def __init__(
        self,
        model: Model,
        growth: int = DEFAULT_GROWTH_BYTES,
        result_growth: int | None = None,
        evaluate: Evaluate = evaluate_node,
    ) -> None:
        """`growth`: the bytes that all new constants together may add to the file; `result_growth`: the bytes that one of
        them may add, by default a share of `growth`; `evaluate`: evaluates nodes on constants."""
        super().__init__(model, folds_rounded=evaluate is evaluate_node)
        self.evaluate = evaluate
        self.growth = growth
        self.result_growth = growth // GROWTH_SHARE if result_growth is None else result_growth
        self.touched: dict[Node, None] = {}
        self.erased: set[Node] = set()
        self.bytes_added = 0  # bytes of new constants
        self.inlined_nodes = 0  # nodes added by inlining calls
        self.nodes_of_calls = count_inlined_nodes(model)
        self._names: dict[Graph, FreshNames] = {}

    # --- replacing uses of values

    def replace_uses(self, value: Value, other: Value) -> bool:
        """Replace all uses of `value`, a node output, by `other`; returns whether that was possible.

        A public value keeps its name: it becomes the output of the node that produces `other`.  That is refused if
        `other` is public too, or produced in another graph.
        """
        if value is other or not self.is_internal(value):
            return value is not other and self.transfer_output(value, other)
        self.touch_readers(value)
        value.replace_by(other)
        if value.producer is not None:
            self.touch(value.producer)
        return True

    def forward(self, node: Node, value: Value) -> bool:
        """Replace a node whose first output equals `value`; by an Identity if both values have to keep their names."""
        if self.replace_uses(node.outputs[0], value):
            self.prune(node)
            return True
        is_insertable = node.graph is not None and self.can_insert("Identity", node.graph)
        return is_insertable and self.replace(node, "Identity", [value])

    def transfer_output(self, value: Value, other: Value) -> bool:
        """Make a public value the output of the node that produces `other`; it replaces `other` there and in all uses."""
        source_node, target_node = value.producer, other.producer
        if (
            source_node is None
            or target_node is None
            or target_node.graph is not source_node.graph
            or not self.is_internal(other)
        ):
            return False
        if target_node.device_configurations:
            return False
        self.touch_readers(value)
        self.touch_readers(other)
        target_node.take_output(other.index, value)
        self.touch(target_node)
        self.touch(source_node)
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
        """Insert a new node directly before another one and infer its output types; attributes that are None are omitted.

        `name` and `value_names` are the preferred names of the node and its outputs.
        """
        graph = before.graph
        assert graph is not None, f"{before!r} is in no graph"
        names = self.names(graph)
        stem = name or (f"{before.name}/{op_type}" if before.name else "")
        output_names = [*value_names, *[f"{stem or op_type}_output"] * (outputs - len(value_names))]
        results = [Value(names.fresh(w)) for w in output_names]
        attribute_values = {k: attribute(k, v) for k, v in (attributes or {}).items() if v is not None}
        node = Node(op_type, trim_inputs(inputs), results, attribute_values, domain=domain)
        node.name = names.fresh(stem) if stem else ""
        graph.insert_before(before, node)
        self.facts.infer_node(node, self.imports(graph))
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
        """Replace a node by a new one that computes the same value; returns whether the replacement was made.

        The new node takes over output, name, doc and metadata.  The replacement is refused if inference gives the
        new output a contradicting type, for example because a constant of higher rank had broadcast the old one.
        """
        node = self.make(op_type, inputs, attributes, before=old, domain=domain)
        if not is_compatible(node.outputs[0].type, old.outputs[0].type):
            self.remove(node)
            return False
        self.replace_node(node, old)
        return True

    def replace_node(self, node: Node, old: Node) -> None:
        """Transfer the first output, name, doc and metadata of an old node to a new one, and remove the old one."""
        node.name, node.doc = old.name, old.doc
        if old.has_metadata:
            node.metadata.update(old.metadata)
        inferred = node.outputs[0].type
        self.touch_readers(old.outputs[0])
        node.take_output(0, old.outputs[0])
        node.outputs[0].type = node.outputs[0].type or inferred
        self.prune(old)

    def update(
        self, node: Node, *, inputs: Sequence[Value | None] | None = None, **attributes: object
    ) -> None:
        """Change inputs and attributes of a node that keeps computing the same value; None removes an attribute."""
        before = node.inputs
        for name, value in attributes.items():
            if value is None:
                node.attributes.pop(name, None)
            else:
                node.set_attribute(attribute(name, value))
        if inputs is not None:
            node.set_inputs(trim_inputs(inputs))
        for value in before:
            self.prune_producer(value)
        self.touch(node)
        for output in node.outputs:
            self.touch_readers(output)

    def set_attribute(self, node: Node, new: Attribute) -> None:
        node.set_attribute(new)
        self.touch(node)

    def remove(self, node: Node) -> None:
        """Remove a node whose outputs have no uses."""
        producers = [v for v in node.inputs if v is not None]
        for graph in node.subgraphs:
            for inner in nodes(graph):
                self.erased.add(inner)
                producers += [v for v in inner.inputs if v is not None]
        assert node.graph is not None, f"{node!r} is in no graph"
        node.graph.remove(node)
        self.erased.add(node)
        for value in producers:
            self.touch_producer(value)

    def prune(self, node: Node) -> None:
        """Remove a node if it is dead, then the producers of its inputs if that made them dead."""
        pending = [node]
        while pending:
            current = pending.pop()
            if current in self.erased or current.graph is None or not self.is_dead(current):
                continue
            producers = [v.producer for v in current.inputs if v is not None and v.producer is not None]
            self.remove(current)
            pending += producers

    def prune_producer(self, value: Value | None) -> None:
        if value is not None and value.producer is not None:
            self.prune(value.producer)

    def is_dead(self, node: Node) -> bool:
        return all(not v._uses and self.is_internal(v) for v in node._outputs)

    # --- replacing nodes by graphs

    def splice(self, node: Node, graph: Graph) -> None:
        """Replace a node by the contents of one of its subgraphs, whose outputs become the node's outputs."""
        assert graph.parent is node, f"{graph!r} is no subgraph of {node!r}"
        self.transfer_outputs(node, self.copy(graph, (), before=node))

    def copy(self, graph: Graph, inputs: Sequence[Value | None], *, before: Node) -> list[Value]:
        """Insert copies of a subgraph's nodes before a node, with `inputs` for its inputs; returns the copied outputs."""
        target = before.graph
        assert target is not None, f"{before!r} is in no graph"
        names, copier = self.names(target), Copier(dict(zip(graph.inputs, inputs, strict=True)))
        for value in graph.initializers.values():
            new_value = copier.value(value)
            new_value.name = names.fresh(new_value.name)
            target.add_initializer(new_value)
            if isinstance(new_value.initializer, Tensor):
                self.facts.record_constant(new_value, new_value.initializer)
        copies = []
        for inner in graph.nodes:
            new_node = target.insert_before(before, copier.node(inner))
            rename_definitions(new_node, Node(""), names)
            copies.append(new_node)
        self.register_nodes(copies)
        return [copier.resolve(v) for v in graph.outputs]

    def transfer_outputs(self, node: Node, results: Sequence[Value | None]) -> None:
        """Transfer the outputs of a node to the producers of `results`, which precede it, and remove it."""
        assert node.graph is not None, f"{node!r} is in no graph"
        self.register_nodes(transfer_outputs(node, list(results), node.graph))
        for output in node.outputs:
            self.touch_readers(output)
        self.remove(node)

    def inline(self, node: Node, function: Function) -> None:
        """Replace a call by the function's body; the operators of the body must be the same under the caller's imports."""
        assert node.graph is not None, f"{node!r} is in no graph"
        producers = [v for v in node.inputs if v is not None]
        for value in omitted_outputs(node, function):
            self.touch_readers(value)
        inlined_body = inline(node, function, self.names(node.graph))
        self.erased.add(node)
        self.register_nodes(inlined_body)
        for value in producers:
            self.touch_producer(value)

    def register_nodes(self, new_nodes: Iterable[Node]) -> None:
        """Infer the types of inserted nodes, given in order, and mark them and their users as touched."""
        for node in new_nodes:
            self.facts.infer_node(node, self.imports_of(node))
            for touched in (node, *(n for graph in node.subgraphs for n in nodes(graph))):
                self.touch(touched)
            for value in node.outputs:
                self.touch_readers(value)

    # --- constants

    def make_constant(self, data: Array | Tensor, name: str, *, before: Node) -> Value:
        """Create a constant visible at `before`: an initializer of the outermost graph, or a Constant node in a function.

        Up to IR version 3 every initializer must be an input, and the constant becomes one, too.
        """
        tensor = data if isinstance(data, Tensor) else Tensor.of(data)
        graph = before.graph
        assert graph is not None, f"{before!r} is in no graph"
        root = outermost_graph(graph)
        if root.function is not None:
            node = self.make("Constant", (), {"value": tensor}, before=before, value_names=[name])
            return node.outputs[0]
        value = Value(self.names(root).fresh(name), TensorType(tensor.dtype, tensor.shape))
        value.initializer = with_name(tensor, value.name)
        if self.model.ir_version < 4:
            root.add_input(value)
        root.add_initializer(value)
        self.facts.record_constant(value, value.initializer)
        return value

    def replace_with_constants(self, node: Node, constants: Mapping[Value, Tensor]) -> bool:
        """Replace outputs of a node by constants; returns whether any was replaced.

        The node is removed if nothing needs it any longer.
        """
        replaced = [self.replace_output(node, value, tensor) for value, tensor in constants.items()]
        self.prune(node)
        return any(replaced)

    def replace_output(self, node: Node, value: Value, tensor: Tensor) -> bool:
        """Replace an output of a node by a constant; a public value becomes the output of a Constant node."""
        if self.is_internal(value):
            return self.replace_uses(value, self.make_constant(tensor, value.name, before=node))
        if node.op_type == "Constant":
            return False
        constant = self.make("Constant", (), {"value": tensor}, before=node)
        return self.replace_uses(value, constant.outputs[0])

    def remove_initializer(self, value: Value) -> None:
        """Remove an unused initializer, and up to IR version 3 the input of the same name."""
        assert value.graph is not None and not value._uses, f"{value!r} still has uses"
        graph = value.graph
        graph.remove_initializer(value)
        graph.remove_input(value)

    # --- names and touched nodes

    def names(self, graph: Graph) -> FreshNames:
        """The names in scope of the graph's nodes."""
        root = outermost_graph(graph)
        key = root if root.function is not None else self.model.graph
        if key not in self._names:
            steps = self.model.training
            around = [g for s in steps for g in (s.initialization, s.algorithm) if g is not None]
            self._names[key] = FreshNames.of_graphs(
                [root] if root.function is not None else [self.model.graph, *around]
            )
        return self._names[key]

    def touch(self, node: Node) -> None:
        self.touched[node] = None

    def touch_producer(self, value: Value) -> None:
        if value.producer is not None:
            self.touched[value.producer] = None
        for reader, _ in (
            value.uses if len(value._uses) <= 1 else ()
        ):  # a sole remaining reader may become fusible
            self.touched[reader] = None

    def touch_readers(self, value: Value) -> None:
        for reader, _ in value.uses:
            self.touched[reader] = None

    def is_erased(self, node: Node) -> bool:
        """Whether a node has been removed, by itself or inside a removed subgraph."""
        return node.graph is None or node in self.erased

    def mark_erased(self, erased: Iterable[Node]) -> None:
        """Record nodes that have been removed from the model."""
        self.erased.update(erased)


def trim_inputs(inputs: Sequence[Value | None]) -> Sequence[Value | None]:
    """The inputs without trailing omitted ones."""
    result = list(inputs)
    while result and result[-1] is None:
        result.pop()
    return result


def with_name(tensor: Tensor, name: str) -> Tensor:
    """The tensor under a name, sharing its data."""
    if tensor.name == name:
        return tensor
    result = Tensor(tensor.dtype, tensor.shape, tensor.storage, name)
    result.doc = tensor.doc
    return result


def is_compatible(new: Type | None, old: Type | None) -> bool:
    """Whether a type may replace another one: the two do not contradict each other, and a known rank stays known."""
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

"""Where converted nodes go, and what becomes of the old one."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced

import numpy as np

from sardonyx._src.convert.fitting import check_inputs, fitted
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.answers import Answer
from sardonyx._src.infer.elements import Elements
from sardonyx._src.infer.folding import known_outputs
from sardonyx._src.infer.plan import Plan
from sardonyx._src.infer.question import Question
from sardonyx._src.ir.graph import Attribute, FunctionKey, Graph, Node, NodeDeviceConfiguration, Value
from sardonyx._src.ir.inline import hand_over
from sardonyx._src.ir.names import Names
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.ir.types import TensorType, Type
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.bind import attributes_of
from sardonyx._src.ops.change import FIRST_CONSTANTS, Change, Converted, Kept
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.registry import find, signature
from sardonyx._src.schema import OpSchema

MOST_SHARED = 64  # elements of a constant that is looked for before it is made


@dataclass(slots=True)
class BeforeNode:
    """A `Place`: new nodes stand before the node that is converted."""

    names: Names
    elements: Elements
    imports: Mapping[str, int]
    functions: Collection[FunctionKey] = ()  # of the model, which hide operators of their names
    shared: dict[Hashable, Value] = field(default_factory=dict)  # small constants of nodes that stand before

    def add(self, node: Node, change: Change) -> None:
        """Puts a node before the old one, under free names, with types, if operator set and types allow it."""
        graph = change.node.graph
        assert graph is not None, f"{change.node!r} is in no graph"
        schema = self.schema(node, change)
        check_inputs(change, node.inputs, schema)
        for value in node.outputs:
            value.name = self.names.fresh(value.name)
        self.tell(node)
        graph.insert_before(change.node, node)

    def constant(self, tensor: Tensor, change: Change) -> Value:
        """A tensor as a Constant, an equal one that stands before if there is one."""
        key = None
        if tensor.size <= MOST_SHARED and tensor.dtype is not DataType.STRING:
            key = (change.node.graph, tensor.dtype, tensor.shape, tensor.numpy().tobytes())
            found = self.shared.get(key)
            if found is not None and found.owner is change.node.graph:
                return found
        if self.imports.get("", 9) < 9 and tensor.dtype not in FIRST_CONSTANTS:
            value = self.initializer(tensor, change)
        else:
            value = change.op("Constant", value=tensor)
        if key is not None:
            self.shared[key] = value
        return value

    def initializer(self, tensor: Tensor, change: Change) -> Value:
        """A tensor as an initializer of the graph; in a function, which has none, a Constant cast to its type."""
        graph = change.node.graph
        assert graph is not None, f"{change.node!r} is in no graph"
        if root_of(graph).function is None:
            name = self.names.fresh(tensor.name or f"{change.node.outputs[0].name}_constant")
            value = graph.add_initializer(Value(name, TensorType(tensor.dtype, tensor.shape), tensor))
            self.elements.put(value, tensor)
            return value
        array = tensor.numpy()
        if tensor.dtype is DataType.STRING or (array.astype(np.float64) != array).any():
            change.refuse(f"a constant of {tensor.dtype.text} cannot be said there inside a function")
        return change.Cast(change.constant(array.astype(np.float64)), to=tensor.dtype)

    def fresh(self, wanted: str) -> str:
        """A name that nothing has yet."""
        return self.names.fresh(wanted)

    def tell(self, node: Node) -> None:
        """Types the outputs of a new node, and notes the elements of a Constant."""
        schema = signature(node.domain, node.op_type, self.imports.get(node.domain, 0))
        types = () if schema is None else self.types(node, schema)
        for value, type in zip(node.outputs, types, strict=False):
            value.type = value.type if type is None else type
        tensor = constant_of(node)
        if tensor is not None:
            self.elements.put(node.outputs[0], tensor)
        elif schema is not None and types:
            self.fold(node, schema, types)

    def fold(self, node: Node, schema: OpSchema, types: Sequence[Type | None]) -> None:
        """Notes elements of the outputs that those of the inputs tell."""
        op = find(node.domain, node.op_type)
        assert op is not None, f"{node.op_type} has told types"
        plan = Plan(op, schema, op.infers[schema.since_version])
        if not plan.finds_elements:
            return
        t = self.inference(node, schema)
        question = Question(
            t.op_type,
            t.version,
            t.inputs,
            t.given,
            t.attributes,
            t.outputs,
            values=node.inputs,
            elements=self.elements,
        )
        found = known_outputs(plan, question, Answer(types), node)
        for value, known in zip(node.outputs, found, strict=False):
            self.elements.put(value, known)

    def schema(self, node: Node, change: Change) -> OpSchema:
        found = signature(node.domain, node.op_type, self.imports.get(node.domain, 0))
        if found is None or found.deprecated:
            change.refuse(f"{node.op_type}, which it would take, does not exist there")
        not_hidden(change, node.domain, node.op_type, self.functions)
        return found

    def types(self, node: Node, schema: OpSchema) -> Sequence[Type | None]:
        """The types of the outputs, as far as they can be told."""
        op = find(node.domain, node.op_type)
        infer = op.infers.get(schema.since_version) if op is not None else None
        if infer is None or any(a.ref for a in node.attributes.values()) or node.subgraphs:
            return ()
        try:
            found = infer(self.inference(node, schema))
        except InferenceError:
            return ()  # the model contradicts itself, which is not for a conversion to say
        return found if isinstance(found, Sequence) else (found,)

    def inference(self, node: Node, schema: OpSchema) -> Inference:
        """The node as inference sees it; an attribute that a call of the function around decides is None."""
        undecided = {a.ref: Attribute(a.name, a.type, None) for a in node.attributes.values() if a.ref}
        return Inference(
            op_type=node.op_type,
            version=schema.since_version,
            inputs=[None if v is None else v.type for v in node.inputs],
            given=[v is not None for v in node.inputs],
            attributes=attributes_of(node, schema, undecided),
            outputs=len(node.outputs),
            known=[self.elements.get(v) for v in node.inputs],
        )


def not_hidden(c: Change, domain: str, op_type: str, functions: Collection[FunctionKey]) -> None:
    """Refuses an operator that a function of the model hides: nodes of its name are calls."""
    if (domain, op_type, "") in functions:
        c.refuse(f"{op_type}, which it would take, is hidden by a function of the model; rename that")


def root_of(graph: Graph) -> Graph:
    """The graph around all others."""
    while graph.parent is not None and graph.parent.graph is not None:
        graph = graph.parent.graph
    return graph


def constant_of(node: Node) -> Tensor | None:
    """The tensor of numbers that a Constant node hands out."""
    if node.op_type != "Constant" or node.domain or len(node.attributes) != 1:
        return None
    (attribute,) = node.attributes.values()
    if isinstance(attribute.value, Tensor):
        return attribute.value
    numbers = {
        "value_int": np.int64,
        "value_ints": np.int64,
        "value_float": np.float32,
        "value_floats": np.float32,
    }
    dtype = numbers.get(attribute.name)
    return None if dtype is None or attribute.ref else Tensor.of(np.asarray(attribute.value, dtype))


def settle(
    c: Change, found: Converted, old: OpSchema, names: Names, functions: Collection[FunctionKey]
) -> list[Node]:
    """Puts what a facet answered in the place of the old node; hands out the new nodes and those that stayed."""
    if isinstance(found, Kept):
        if found.op_type != c.node.op_type:
            not_hidden(c, c.node.domain, found.op_type, functions)
        keep(c, found, old)
        return [*c.added, c.node]
    results = [found] if isinstance(found, Value) else list(found)
    if needs_copies(c.node, results):
        not_hidden(c, "", "Identity", functions)
    known = {n for taken in c.taken.values() for graph in taken.graphs for n in nodes(graph)}
    inner = [n for made in c.added for graph in made.subgraphs for n in nodes(graph) if n not in known]
    made = replace(c.node, results, names)
    new = heir(c, made)
    new.name = c.node.name
    describe(new, c.node, [*c.added, *made])
    return c.added + inner + made


def keep(c: Change, found: Kept, old: OpSchema) -> None:
    """Changes the node in place."""
    node = c.node
    new = signature(node.domain, found.op_type, c.imports[node.domain])
    if new is None or (new.deprecated and not old.deprecated):
        c.refuse(f"{found.op_type} does not exist there")
    attributes = fitted(c, found, old, new)
    node.op_type = found.op_type
    node.set_inputs(found.inputs)
    node.attributes = attributes
    for attribute in attributes.values():
        node.set_attribute(attribute)
    if found.outputs < len(node.outputs):
        node.drop_outputs(found.outputs)
    place_on_devices([node], node, node.device_configurations)


def needs_copies(node: Node, results: Sequence[Value | None]) -> bool:
    """Whether results of a node go through an Identity, as `hand_over` has it."""
    wanted = [r for output, r in zip(node.outputs, results, strict=False) if output.name and r is not None]
    return len(set(wanted)) < len(wanted) or any(r.producer is None or r in node.inputs for r in wanted)


def heir(c: Change, made: Sequence[Node]) -> Node:
    """The new node that goes by the old one's name: the one of the same operator, or else the last."""
    alike = [n for n in c.added if n.op_type == c.node.op_type and n.domain == c.node.domain]
    return (alike or c.added or made or [c.node])[-1]


def describe(new: Node, old: Node, made: Sequence[Node]) -> None:
    """Gives a node the words about another one, and those that have been made of that its places on devices."""
    if new is old:
        return
    new.doc = old.doc
    new.unknown = old.unknown
    if old.has_metadata:
        new.metadata.update(old.metadata)
    place_on_devices(made, new, old.device_configurations)


def place_on_devices(made: Sequence[Node], heir: Node, wanted: Sequence[NodeDeviceConfiguration]) -> None:
    """Leaves each node what says how a tensor that it takes or makes is sharded; the heir keeps all configurations."""
    for node in made if wanted else ():
        tensors = {*node.inputs, *node.outputs}
        found = [
            replaced(d, sharding_spec=[s for s in d.sharding_spec if s.tensor in tensors]) for d in wanted
        ]
        node.device_configurations = [d for d in found if d.sharding_spec or node is heir]


def replace(node: Node, results: Sequence[Value | None], names: Names) -> list[Node]:
    """Makes the outputs of a node those of others and takes it out."""
    graph = node.graph
    assert graph is not None, f"{node!r} is in no graph"
    made = hand_over(node, list(results), graph)
    graph.remove(node)
    return made


def undo(c: Change) -> None:
    """Takes out what a facet added before it refused."""
    for node in reversed(c.added):
        assert node.graph is not None, f"{node!r} is in no graph"
        node.graph.remove(node)
    c.added.clear()
    for attribute in c.taken.values():
        c.node.set_attribute(attribute)

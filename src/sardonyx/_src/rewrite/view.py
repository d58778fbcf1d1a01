"""What a pass may ask about a model: operators, versions, attributes, types, constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sardonyx._src.errors import ExternalDataError
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Attribute, Graph, Model, Node, Value
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ir.walk import graphs, nodes, roots
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.bind import plan_of
from sardonyx._src.ops.inference import Known
from sardonyx._src.ops.registry import find, signature
from sardonyx._src.rewrite.facts import Facts, root_of
from sardonyx._src.schema import OpSchema

Versions = Mapping[tuple[str, str], frozenset[int]]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a node's operator is: its signature, and what is written down about it."""

    schema: OpSchema
    op: Operator

    @property
    def version(self) -> int:
        return self.schema.since_version


class View:
    """Questions about a model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.facts = Facts(model)
        self.reads: Versions = {}  # what the pass that is asked has been read for
        self.changing = changing_values(model) | self.facts.states
        self.public = public_values(model)
        self._meanings: dict[tuple[str, str, int | None], Meaning | None] = {}

    # --- operators

    def imports(self, graph: Graph) -> Mapping[str, int]:
        """The operator sets that the graph's nodes go by."""
        function = root_of(graph).function
        return self.model.opset_imports if function is None else function.opset_imports

    def imports_of(self, node: Node) -> Mapping[str, int]:
        assert node.graph is not None, f"{node!r} is in no graph"
        return self.imports(node.graph)

    def meaning(self, node: Node) -> Meaning | None:
        """The node's operator; None for a call of a function, an unknown operator, a removed node, one whose attributes
        are a function's, or that cannot run, since it does not fit its operator."""
        if node.graph is None or self.facts.calls(node) or self.facts.ongoing.refuses(node):
            return None
        found = self.operator(node.domain, node.op_type, self.imports(node.graph).get(node.domain))
        return found if found is not None and fits_signature(node, found.schema) else None

    def operator(self, domain: str, op_type: str, opset: int | None) -> Meaning | None:
        """The operator that a name means in a version of its operator set."""
        key = (domain, op_type, opset)
        if key not in self._meanings:
            schema = None if opset is None else signature(domain, op_type, opset)
            op = find(domain, op_type)
            known = schema is not None and op is not None and not schema.deprecated
            self._meanings[key] = Meaning(schema, op) if known and schema and op else None
        return self._meanings[key]

    def is_a(self, node: Node | None, op_type: str, domain: str = "") -> bool:
        """Whether a node is of an operator, in a version that the pass was read for, and free to be rewritten."""
        if node is None or node.op_type != op_type or node.domain != domain or node.device_configurations:
            return False
        found = self.meaning(node)
        return found is not None and found.version in self.reads.get((domain, op_type), ())

    def has(self, op_type: str, graph: Graph, domain: str = "") -> bool:
        """Whether nodes of an operator, in a version that the pass was read for, can be put into the graph."""
        found = self.operator(domain, op_type, self.imports(graph).get(domain))
        if found is None or (domain, op_type, "") in self.model.functions:
            return False
        return found.version in self.reads.get((domain, op_type), ())

    def version(self, node: Node) -> int:
        found = self.meaning(node)
        assert found is not None, f"{node!r} is of no known operator"
        return found.version

    def attributes(self, node: Node) -> dict[str, object]:
        """The node's attributes as kernels take them, defaults filled in."""
        found = self.meaning(node)
        assert found is not None, f"{node!r} is of no known operator"
        return plan_of(found.schema).bind(node, {})

    # --- values

    def producer(self, value: Value | None, op_type: str, domain: str = "") -> Node | None:
        """The node that makes a value, if it is of that operator."""
        node = None if value is None else value.producer
        return node if self.is_a(node, op_type, domain) else None

    def is_free(self, value: Value) -> bool:
        """Whether a value's name and existence are nobody's business: not public, no output of its graph."""
        return value not in self.public and not value.is_graph_output

    def is_read_once(self, value: Value) -> bool:
        """Whether one input of one node is all that reads the value."""
        return len(value._uses) == 1 and self.is_free(value)

    def type(self, value: Value | None) -> TensorType | None:
        found = None if value is None else value.type
        return found if isinstance(found, TensorType) else None

    def shape(self, value: Value | None) -> Shape | None:
        found = self.type(value)
        return None if found is None else found.shape

    def rank(self, value: Value | None) -> int | None:
        shape = self.shape(value)
        return None if shape is None else len(shape)

    def elements(self, value: Value | None) -> Known | None:
        """What is known of a small tensor's elements: numbers, or an object array of int, Expr and None."""
        return self.facts.elements(value)

    def tensor(self, value: Value | None) -> Tensor | None:
        """The tensor of a value that is the same in every run: an initializer that nobody can replace, a Constant."""
        if value is None or value in self.changing:
            return None
        if value.producer is None:
            return value.initializer if isinstance(value.initializer, Tensor) else None
        return self.literal(value.producer)

    def literal(self, node: Node) -> Tensor | None:
        """What a Constant holds, if it is a dense tensor."""
        if (
            node.op_type != "Constant"
            or node.domain
            or len(node.attributes) != 1
            or self.meaning(node) is None
        ):
            return None
        (attribute,) = node.attributes.values()
        return tensor_in(attribute)

    def constant(self, value: Value | None) -> Array | None:
        """The elements of a constant; None where they stand in a file that is not at hand."""
        tensor = self.tensor(value)
        try:
            return None if tensor is None else tensor.numpy()
        except ExternalDataError:
            return None

    def scalar(self, value: Value | None) -> float | None:
        """The number in a constant of one element of a real element type."""
        tensor = self.tensor(value)
        found = None if tensor is None or tensor.size != 1 else self.constant(value)
        if found is None or found.dtype.kind in "cO":
            return None
        return float(found.reshape(()).astype(np.float64))


def fits_signature(node: Node, schema: OpSchema) -> bool:
    """Whether a node has as many inputs and outputs as its operator takes, and its attributes, all of them literal."""
    given, made = len(node.inputs), len(node.outputs)
    if given < schema.min_inputs or made < max(schema.min_outputs, 1):
        return False
    if given > (schema.max_inputs or given) or made > (schema.max_outputs or made):
        return False
    plan = plan_of(schema)
    if any(a.ref or plan.kinds.get(a.name) is not a.type for a in node.attributes.values()):
        return False
    return all(name in node.attributes for name in plan.required)


def tensor_in(attribute: Attribute) -> Tensor | None:
    """The tensor that a Constant with this attribute makes; None for sparse ones."""
    value, kind = attribute.value, attribute.type
    if isinstance(value, Tensor):
        return value
    if kind in (AttributeType.INT, AttributeType.INTS):
        return Tensor.of(np.array(value, np.int64))
    if kind in (AttributeType.FLOAT, AttributeType.FLOATS):
        return Tensor.of(np.array(value, np.float32))
    return None


def public_values(model: Model) -> set[Value]:
    """Values that something outside of the nodes refers to: they keep existing, and keep their names.

    Up to IR version 3 weights are listed as inputs without being meant as such.
    """
    is_old = model.ir_version < 4
    found = {v for v in model.graph.inputs if not (is_old and v.initializer is not None)}
    found.update(model.graph.outputs)
    for step in model.training:
        for target, source in (*step.initialization_binding, *step.update_binding):
            found |= {target, source}
    for root in roots(model):
        for graph in graphs(root):
            for annotation in graph.quantization_annotations:
                named = (annotation.tensor, *annotation.parameters.values())
                found.update(v for v in named if isinstance(v, Value))
        for node in nodes(root):
            specs = (s for d in node.device_configurations for s in d.sharding_spec)
            found.update(s.tensor for s in specs if isinstance(s.tensor, Value))
    return found


def changing_values(model: Model) -> set[Value]:
    """Inputs, whose initializers are defaults; up to IR version 3, where weights have to be inputs, those of the main
    graph are meant as constants."""
    found: set[Value] = set()
    for root in roots(model):
        for graph in graphs(root):
            if graph is not model.graph or model.ir_version >= 4:
                found.update(graph.inputs)
    return found

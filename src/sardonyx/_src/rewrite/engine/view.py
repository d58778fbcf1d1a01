"""Read-only queries of passes on a model: operators, versions, attributes, types, constants."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.ir import Array, Attribute, Graph, Model, Node, Shape, Tensor, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Expr, known_equal
from sardonyx._src.ir.dims.atoms import has_opaque_part
from sardonyx._src.ir.walk import graphs, nodes, roots
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.bind import AttributePlan, plan_of
from sardonyx._src.ops.inference import Known
from sardonyx._src.ops.registry import find, signature
from sardonyx._src.ops.tensor.elements import is_fully_known
from sardonyx._src.rewrite.engine.facts import Facts, outermost_graph
from sardonyx._src.schema import OpSchema

Versions = Mapping[tuple[str, str], frozenset[int]]
MAX_UNIFORM_ELEMENTS = 1 << 16  # elements of a constant that are compared with each other


@dataclass(frozen=True, slots=True)
class ResolvedOperator:
    """The operator of a node: its schema in the imported version, and its definition.

    attributes: how the attributes of nodes are bound.
    """

    schema: OpSchema
    op: Operator
    attributes: AttributePlan

    @classmethod
    def of(cls, schema: OpSchema, op: Operator) -> ResolvedOperator:
        return cls(schema, op, plan_of(schema))

    @property
    def version(self) -> int:
        return self.schema.since_version


class View:
    """Read-only queries on a model that is being rewritten."""

    def __init__(self, model: Model, *, folds_rounded: bool = True) -> None:
        """folds_rounded: as of `InferenceState`."""
        self.model = model
        self.facts = Facts(model, folds_rounded=folds_rounded)
        self.supported_versions: Versions = {}  # of the running pass, set by `rewrite/engine`
        self.mutable = mutable_values(model) | self.facts.training_states
        self.public = public_values(model)
        self.digests: dict[Tensor, Hashable] = {}  # of small tensors that a pass has compared
        self.samples: dict[Tensor, Hashable] = {}  # a few elements of large tensors that a pass has compared
        self._uniform_numbers: dict[Tensor, float | None] = {}
        self._meanings: dict[tuple[str, str, int | None], ResolvedOperator | None] = {}

    # --- operators

    def imports(self, graph: Graph) -> Mapping[str, int]:
        """The opset imports that apply to the graph's nodes."""
        function = outermost_graph(graph).function
        return self.model.opset_imports if function is None else function.opset_imports

    def imports_of(self, node: Node) -> Mapping[str, int]:
        assert node.graph is not None, f"{node!r} is in no graph"
        return self.imports(node.graph)

    def operator_of(self, node: Node) -> ResolvedOperator | None:
        """The node's operator; None if no pass may rewrite the node.

        That is a function call, a node of an unknown operator, an erased node, and a node that does not match its schema or
        refers to attributes of a function.  Passes that change nodes refuse those with device configurations as well
        (`is_a`, `rewritable_version`); reading them is allowed.
        """
        if node.graph is None or self.facts.is_call(node) or self.facts.inference.is_rejected(node):
            return None
        operator = self.operator(node.domain, node.op_type, self.imports(node.graph).get(node.domain))
        return operator if operator is not None and matches_signature(node, operator) else None

    def operator(self, domain: str, op_type: str, opset: int | None) -> ResolvedOperator | None:
        """The operator of a name in a version of its operator set; None if unknown or deprecated."""
        key = (domain, op_type, opset)
        if key not in self._meanings:
            schema = None if opset is None else signature(domain, op_type, opset)
            op = find(domain, op_type)
            known = schema is not None and op is not None and not schema.deprecated
            self._meanings[key] = ResolvedOperator.of(schema, op) if known and schema and op else None
        return self._meanings[key]

    def is_a(self, node: Node | None, op_type: str, domain: str = "") -> bool:
        """Whether a node has this operator, in a version that the pass supports, and may be rewritten."""
        if node is None or node.op_type != op_type or node.domain != domain or node.device_configurations:
            return False
        operator = self.operator_of(node)
        return operator is not None and operator.version in self.supported_versions.get((domain, op_type), ())

    def rewritable_version(self, node: Node) -> int | None:
        """The version of a node's operator; None if no pass may rewrite the node."""
        operator = None if node.device_configurations else self.operator_of(node)
        return None if operator is None else operator.version

    def can_insert(self, op_type: str, graph: Graph, domain: str = "", dtype: DataType | None = None) -> bool:
        """Whether the graph can hold new nodes of an operator, in a version that the pass supports.

        dtype: an element type that the operator must accept for its first input.
        """
        operator = self.operator(domain, op_type, self.imports(graph).get(domain))
        if operator is None or (domain, op_type, "") in self.model.functions:
            return False
        schema = operator.schema
        if dtype is not None and f"tensor({dtype.text})" not in schema.allowed_types(schema.inputs[0]):
            return False
        return operator.version in self.supported_versions.get((domain, op_type), ())

    def version(self, node: Node) -> int:
        operator = self.operator_of(node)
        assert operator is not None, f"{node!r} has no known operator"
        return operator.version

    def attributes(self, node: Node) -> dict[str, object]:
        """The node's attributes as kernels receive them, with defaults filled in."""
        operator = self.operator_of(node)
        assert operator is not None, f"{node!r} has no known operator"
        return operator.attributes.bind(node, {})

    # --- values

    def producer(self, value: Value | None, op_type: str, domain: str = "") -> Node | None:
        """The producer of a value, if it has that operator."""
        node = None if value is None else value.producer
        return node if self.is_a(node, op_type, domain) else None

    def is_internal(self, value: Value) -> bool:
        """Whether a value may be renamed or removed: it is neither public nor an output of its graph."""
        return value not in self.public and not value.is_graph_output

    def has_one_use(self, value: Value) -> bool:
        """Whether the value is internal and has exactly one use."""
        return len(value._uses) == 1 and self.is_internal(value)

    def type(self, value: Value | None) -> TensorType | None:
        inferred = None if value is None else value.type
        return inferred if isinstance(inferred, TensorType) else None

    def shape(self, value: Value | None) -> Shape | None:
        tensor_type = self.type(value)
        return None if tensor_type is None else tensor_type.shape

    def rank(self, value: Value | None) -> int | None:
        shape = self.shape(value)
        return None if shape is None else len(shape)

    def elements(self, value: Value | None) -> Known | None:
        """The known elements of a small tensor: numbers, or an object array of int, Expr and None."""
        return self.facts.elements(value)

    def are_known(self, values: Iterable[Value | None]) -> bool:
        """Whether all elements of operands such as shapes are known.

        A run may supply invalid elements for unknown ones, and must then fail.
        """
        return all(is_fully_known(self.elements(value)) for value in values if value is not None)

    def requires_only_input_sizes(self, node: Node) -> bool:
        """Whether all equalities of sizes that a node requires are proved, or follow from the sizes of the model's inputs.

        Guards of compiled programs (`compile/prepare/size_guards.py`) check the latter.  They check neither sizes that only a run decides, nor those in a subgraph, which a run may
        not execute.
        """
        pairs = self.facts.inference.equal_dims(node)
        unproved = [dim for a, b in pairs if known_equal(a, b) is not True for dim in (a, b)]
        if unproved and node.graph is not self.model.graph:
            return False
        shapes = [value.type.shape for value in self.model.graph.inputs if isinstance(value.type, TensorType)]
        names = {
            name for shape in shapes for dim in shape or () if isinstance(dim, Expr) for name in dim.symbols()
        }
        return not any(
            isinstance(dim, Expr) and (has_opaque_part(dim) or not dim.symbols() <= names) for dim in unproved
        )

    def tensor(self, value: Value | None) -> Tensor | None:
        """The tensor of a value that is constant across runs: an initializer that no feed can replace, or a Constant."""
        if value is None or value in self.mutable:
            return None
        if value.producer is None:
            return value.initializer if isinstance(value.initializer, Tensor) else None
        return self.constant_tensor(value.producer)

    def constant_tensor(self, node: Node) -> Tensor | None:
        """The dense tensor of a Constant node; None for any other."""
        if (
            node.op_type != "Constant"
            or node.domain
            or len(node.attributes) != 1
            or self.operator_of(node) is None
        ):
            return None
        (attribute,) = node.attributes.values()
        return tensor_of_attribute(attribute)

    def constant(self, value: Value | None) -> Array | None:
        """The elements of a constant; None if they are in an external file that is not available."""
        tensor = self.tensor(value)
        try:
            return None if tensor is None else tensor.numpy()
        except ExternalDataError:
            return None

    def scalar(self, value: Value | None) -> float | None:
        """The number in a constant of one real element."""
        tensor = self.tensor(value)
        data = None if tensor is None or tensor.size != 1 else self.constant(value)
        if data is None or data.dtype.kind in "cO":
            return None
        return float(data.reshape(()).astype(np.float64))

    def uniform_number(self, value: Value | None) -> float | None:
        """The number that all elements of a constant equal, sign of zero included; None above `MAX_UNIFORM_ELEMENTS`."""
        tensor = self.tensor(value)
        if tensor is None or not 0 < tensor.size <= MAX_UNIFORM_ELEMENTS:
            return None
        if tensor not in self._uniform_numbers:
            self._uniform_numbers[tensor] = uniform_number_of(self.constant(value))
        return self._uniform_numbers[tensor]


def uniform_number_of(data: Array | None) -> float | None:
    """The number that all elements equal, sign of zero included; None if they differ, or are no real numbers."""
    if data is None or data.dtype.kind in "cO":
        return None
    numbers = data.reshape(-1).astype(np.float64)
    is_uniform = bool((numbers == numbers[0]).all()) and len(set(np.signbit(numbers).tolist())) == 1
    return float(numbers[0]) if is_uniform else None


def matches_signature(node: Node, operator: ResolvedOperator) -> bool:
    """Whether the numbers of inputs and outputs and the attributes of a node match the schema of its operator."""
    schema, plan = operator.schema, operator.attributes
    inputs, outputs = len(node._inputs), len(node._outputs)
    if inputs < schema.min_inputs or outputs < max(schema.min_outputs, 1):
        return False
    if inputs > (schema.max_inputs or inputs) or outputs > (schema.max_outputs or outputs):
        return False
    attributes = node.attributes
    for attribute in attributes.values():  # a loop, since passes ask about every node many times
        if attribute.ref or plan.kinds.get(attribute.name) is not attribute.type:
            return False
    return all(name in attributes for name in plan.required) if plan.required else True


def tensor_of_attribute(attribute: Attribute) -> Tensor | None:
    """The dense tensor of a Constant with this attribute; None for sparse ones."""
    value, kind = attribute.value, attribute.type
    if isinstance(value, Tensor):
        return value
    if kind in (AttributeType.INT, AttributeType.INTS):
        return Tensor.of(np.array(value, np.int64))
    if kind in (AttributeType.FLOAT, AttributeType.FLOATS):
        return Tensor.of(np.array(value, np.float32))
    if kind is AttributeType.STRING and isinstance(value, bytes):
        return Tensor.of(np.array(decode_string(value), object))
    if kind is AttributeType.STRINGS and isinstance(value, tuple):
        strings = np.empty(len(value), object)
        strings[:] = [decode_string(v) for v in value if isinstance(v, bytes)]
        return Tensor.of(strings)
    return None


def decode_string(value: bytes) -> str:
    """A string attribute as an element of a tensor."""
    return value.decode("utf-8", "surrogateescape")


def public_values(model: Model) -> set[Value]:
    """Values that are referenced from outside the nodes, and must therefore keep existing under their names.

    Weights that are also inputs, as IR versions up to 3 require, are not public for that reason.
    """
    is_old = model.ir_version < 4
    public = {v for v in model.graph.inputs if not (is_old and v.initializer is not None)}
    public.update(model.graph.outputs)
    for step in model.training:
        for target, source in (*step.initialization_binding, *step.update_binding):
            public |= {target, source}
    for root in roots(model):
        for graph in graphs(root):
            for annotation in graph.quantization_annotations:
                named = (annotation.tensor, *annotation.parameters.values())
                public.update(v for v in named if isinstance(v, Value))
        for node in nodes(root):
            specs = (s for d in node.device_configurations for s in d.sharding_spec)
            public.update(s.tensor for s in specs if isinstance(s.tensor, Value))
    return public


def mutable_values(model: Model) -> set[Value]:
    """The inputs of all graphs: their values are not constant, since initializers of inputs are only defaults.

    Inputs of the main graph are left out up to IR version 3, where weights had to be inputs.
    """
    mutable: set[Value] = set()
    for root in roots(model):
        for graph in graphs(root):
            if graph is not model.graph or model.ir_version >= 4:
                mutable.update(graph.inputs)
    return mutable

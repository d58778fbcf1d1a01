"""Calls of operators and functions: operands converted, the node checked, appended and typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.arguments import require_integer, texts_of
from sardonyx._src.build.attributes import AttributeParameter, attributes_of_call
from sardonyx._src.build.literals import literal_tensor
from sardonyx._src.build.operand import Operand
from sardonyx._src.build.signatures import check_inputs, check_output_count, signature_of
from sardonyx._src.build.state import BuilderState
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InferenceError, InputError, InvalidModel
from sardonyx._src.infer.scope import InferenceScope
from sardonyx._src.infer.walk import run_walk
from sardonyx._src.ir import Attribute, Graph, Node, SparseTensor, Tensor, TensorType, Value
from sardonyx._src.ir.walk import values
from sardonyx._src.ops.bind import check_attribute_values
from sardonyx._src.ops.element_types import find_type_mismatch
from sardonyx._src.schema import OpSchema

MAX_OUTPUTS = 1 << 20  # outputs of one node
MAX_SHARED_LITERAL = 64  # bytes of a literal up to which equal literals become one constant


def add_call(
    state: BuilderState,
    op_type: str,
    inputs: Sequence[object],
    outputs: int | str | Sequence[str] | None,
    domain: str,
    name: str,
    attributes: Mapping[str, object],
) -> Node:
    """Appends a node to the innermost graph and types its outputs.

    Raises InputError for what the signature does not allow, and InferenceError for types and sizes that the operator
    rejects; the graph is unchanged then.
    """
    imports = state.import_domain(domain)
    is_function = (domain, op_type, "") in state.model.functions
    schema = None if is_function else signature_of(domain, op_type, imports)
    if schema is not None:
        check_inputs(op_type, schema, inputs)
    operands = convert_operands(state, op_type, schema, inputs)
    converted = attributes_of_call(op_type, schema, attributes)
    names = output_names(state, op_type, schema, outputs, operands, converted)
    node = Node(
        op_type, operands, [Operand(state.owner, n) for n in names], converted, domain=domain, name=name
    )
    if schema is not None:
        check_output_count(op_type, schema, len(names))
        check_attribute_values_of(node, schema)
        refuse_mixed_types(node, schema)
    state.scopes.current.append(node)
    if state.is_typing:
        infer_types(state, node, imports)
    return node


def convert_operands(
    state: BuilderState, op: str, schema: OpSchema | None, inputs: Sequence[object]
) -> list[Value | None]:
    """The inputs as values.

    Literals become constants of the types that the other operands imply; references to attributes of the function under
    construction become Constant nodes of the attributes' types.
    """
    bound: dict[str, DataType] = {}
    for position, value in enumerate(inputs):
        parameter = None if schema is None else schema.input(position)
        if isinstance(value, Value):
            state.scopes.require_visible(value, f"input {position} of {op}")
            if parameter is not None and parameter.homogeneous and isinstance(value.type, TensorType):
                bound.setdefault(parameter.type, value.type.dtype)
    result: list[Value | None] = []
    for position, value in enumerate(inputs):
        if value is None or isinstance(value, Value):
            result.append(value)
        elif isinstance(value, AttributeParameter):
            constant = {f"value_{value.type.name.lower()}": value}
            result.append(add_call(state, "Constant", (), None, "", "", constant).outputs[0])
        elif isinstance(value, SparseTensor):
            result.append(add_sparse(state, value, state.fresh_name("constant")))
        else:
            parameter = None if schema is None else schema.input(position)
            label = "" if parameter is None else f" {parameter.name!r}"
            tensor = literal_tensor(value, parameter, schema, bound, f"input {position}{label} of {op}")
            result.append(add_literal(state, tensor))
    return result


def add_literal(state: BuilderState, tensor: Tensor) -> Value:
    """A value with these elements: an initializer of the main graph or, inside a function, a Constant; small equal ones are shared."""
    graph = state.scopes.literal_graph
    if graph is None:
        return add_call(state, "Constant", (), None, "", "", {"value": tensor}).outputs[0]
    array = tensor.numpy()
    key = None
    if tensor.dtype is not DataType.STRING and array.nbytes <= MAX_SHARED_LITERAL:
        key = tensor.dtype, tensor.shape, array.tobytes()
        if (shared := state.literals.get(key)) is not None and shared.owner is graph:
            return shared
    value = add_constant(state, graph, state.fresh_name("constant"), tensor)
    state.automatic.add(value)
    if key is not None:
        state.literals[key] = value
    return value


def add_constant(state: BuilderState, graph: Graph, name: str, tensor: Tensor) -> Operand:
    """An initializer with elements that inference knows."""
    value = Operand(state.owner, name, TensorType(tensor.dtype, tensor.shape), tensor)
    graph.add_initializer(value)
    state.inference.elements.put(value, tensor)
    return value


def add_sparse(state: BuilderState, tensor: SparseTensor, name: str) -> Operand:
    """An initializer with sparse elements or, inside a function, a Constant; for its readers it is a dense tensor."""
    graph = state.scopes.literal_graph
    if graph is None:
        value = add_call(state, "Constant", (), None, "", "", {"sparse_value": tensor}).outputs[0]
        assert isinstance(value, Operand), "calls have operands as outputs"
        return value
    value = Operand(state.owner, name, TensorType(tensor.dtype, tensor.shape), tensor)
    graph.add_initializer(value)
    return value


def output_names(
    state: BuilderState,
    op: str,
    schema: OpSchema | None,
    outputs: int | str | Sequence[str] | None,
    inputs: Sequence[Value | None],
    attributes: Mapping[str, Attribute],
) -> list[str]:
    """Names of the outputs: the given ones, or new ones."""
    if isinstance(outputs, str):
        outputs = [outputs]
    if outputs is None:
        outputs = output_count(state, op, schema, inputs, attributes)
    if isinstance(outputs, int):
        require_integer("outputs", outputs, 1, MAX_OUTPUTS)
        stem = state.fresh_name(op.lower())
        return [stem] if outputs == 1 else [state.reserve(f"{stem}_{i}") for i in range(outputs)]
    names = texts_of("outputs", outputs)
    if not any(names):
        raise InputError(f"outputs must name at least one output; got {list(names)}", name="outputs")
    return [state.reserve(name) if name else "" for name in names]


def output_count(
    state: BuilderState,
    op: str,
    schema: OpSchema | None,
    inputs: Sequence[Value | None],
    attributes: Mapping[str, Attribute],
) -> int:
    """The number of outputs of a call that does not state it: those that the signature requires; for Split, the number of parts."""
    if op == "Split" and schema is not None and not schema.domain:
        parts = attributes.get("num_outputs") or attributes.get("split")
        if parts is not None:
            return parts.value if isinstance(parts.value, int) else len(parts.value)  # type: ignore[arg-type]
        sizes = state.inference.elements.get(inputs[1]) if len(inputs) > 1 else None
        if sizes is None:
            raise InputError("outputs must be the number of parts of Split; it is not known", name="outputs")
        return len(sizes)
    return max(1, schema.min_outputs if schema is not None else 1)


def check_attribute_values_of(node: Node, schema: OpSchema) -> None:
    try:
        check_attribute_values(node, schema)
    except InvalidModel as error:
        raise InputError(f"{node.op_type}: {error.why}", name="attributes") from None


def refuse_mixed_types(node: Node, schema: OpSchema) -> None:
    """Raises InferenceError for element types that the signature does not allow."""
    dtypes = [v.type.dtype if v is not None and isinstance(v.type, TensorType) else None for v in node.inputs]
    if why := find_type_mismatch(schema, dtypes):
        node.set_inputs(())
        raise InferenceError(why, location=node.op_type)


def infer_types(state: BuilderState, node: Node, imports: Mapping[str, int]) -> None:
    """Types the outputs of a new node; removes it and raises InferenceError if its operator rejects it."""
    for graph in node.subgraphs:
        forget_types(state, graph)
    try:
        run_walk(InferenceScope(state.inference, imports, state.bindings).node(node, None))
    except (InferenceError, InvalidModel):
        graph = state.scopes.current
        graph.remove(node)
        raise


def forget_types(state: BuilderState, graph: Graph) -> None:
    """Forgets the types inside a subgraph, which were inferred for one call of its function.

    Inference of the node determines the types that hold in all iterations.
    """
    for value in values(graph):
        if value.initializer is None:
            value.type = None
            state.inference.declared.pop(value, None)

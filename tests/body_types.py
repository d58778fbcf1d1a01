"""Bodies as functions of a model: nodes that their operator set has, on types that it allows; sizes that nobody knows."""

from __future__ import annotations

from collections.abc import Container, Mapping

import pytest

from cases import Case, assert_same, inference_of, model_of
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.walk import infer
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.graph import Node
from sardonyx._src.ir.types import OptionalType, SequenceType, TensorType, Type
from sardonyx._src.ir.walk import graphs, nodes, values
from sardonyx._src.ops.bind import Bindings, attributes_of, schema_of
from sardonyx._src.ops.bodies import body_of, parsed
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import OpSchema, lookup


def check_body_types(case: Case) -> None:
    """Asserts it of the body that the operator has for the types and attributes of the case."""
    model = model_of(case)
    (node,) = model.graph.nodes
    schema = schema_of(node, model.opset_imports)
    op = find(case.domain, case.op)
    assert op is not None, f"{case} has no operator"
    infer(model)  # what subgraphs result in can decide the body
    parsed.cache_clear()  # inference writes types into the function
    function = body_of(op, inference_of(case, node, schema, model, known=True))
    assert function is not None, f"{case} has no body"
    model.functions[case.domain, case.op, ""] = function
    infer(model)
    names = [value.name for graph in graphs(function.body) for value in values(graph)]
    assert len(set(names)) == len(names), f"{case}: a name stands for two values of the body"
    read = {value.name for inner in nodes(function.body) for value in inner.inputs if value is not None}
    read |= {value.name for graph in graphs(function.body) for value in graph.outputs}
    for inner in nodes(function.body):  # attributes by reference are not looked into: they are the caller's
        assert any(value.name in read for value in inner.outputs), (
            f"{case}: nobody reads what {inner!r} makes"
        )
        check_node(
            inner, function.opset_imports, {**function.attributes, **node.attributes}, f"{case}: {inner!r}"
        )


def check_body_without_sizes(case: Case, needed: Container[str]) -> None:
    """Asserts that a body which is told element types and ranks alone computes what the kernel does.

    needed: operators whose bodies refuse that.
    """
    model = model_of(case)
    (node,) = model.graph.nodes
    schema = schema_of(node, model.opset_imports)
    op = find(case.domain, case.op)
    assert op is not None, f"{case} has no operator"
    if op.is_random:
        return
    infer(model)  # what subgraphs result in can decide the body
    inference = inference_of(case, node, schema, model, known=False)
    inference.inputs = [without_sizes(type) for type in inference.inputs]
    if case.op in needed:
        with pytest.raises(InferenceError, match="has to be known"):
            body_of(op, inference)
        return
    function = body_of(op, inference)
    assert function is not None, f"{case} has no body"
    feeds = {f"x{i}": value for i, value in enumerate(case.inputs) if value is not None or i in case.types}
    wanted = Interpreter(model_of(case)).run(feeds)
    model.functions[case.domain, case.op, ""] = function
    for name, found in Interpreter(model).run(feeds).items():
        if wanted[name] is not None:
            assert_same(found, wanted[name], exact=False, where=f"{case}: body, {name}")


def without_sizes(type: Type | None) -> Type | None:
    if not isinstance(type, TensorType) or type.shape is None:
        return type
    return TensorType(type.dtype, (None,) * len(type.shape))


def check_node(node: Node, imports: Mapping[str, int], bindings: Bindings, where: str) -> None:
    schema = lookup(node.domain, node.op_type, imports[node.domain])
    assert schema is not None and not schema.deprecated, f"{where}: there is no such operator"
    attributes_of(node, schema, bindings)
    assert schema.min_inputs <= len(node.inputs) <= (schema.max_inputs or len(node.inputs)), where
    bound: dict[str, str] = {}
    for i, value in enumerate(node.inputs):
        if value is not None:
            check_type(schema, True, i, value.type, bound, where)
    for i, value in enumerate(node.outputs):
        check_type(schema, False, i, value.type, bound, where)


def check_type(
    schema: OpSchema, is_input: bool, i: int, type: Type | None, bound: dict[str, str], where: str
) -> None:
    """Asserts that a value's type is allowed, and the same as that of others with the same type variable."""
    parameter = schema.input(i) if is_input else schema.output(i)
    assert parameter is not None, f"{where}: {'input' if is_input else 'output'} {i} is one too many"
    if type is None:
        return
    found = spelled(type)
    assert found in schema.allowed(parameter), f"{where}: {found} is not allowed for {parameter.name}"
    if parameter.homogeneous:
        first = bound.setdefault(parameter.type, found)
        assert first == found, f"{where}: {parameter.type} is {first} and {found}"


def spelled(type: Type) -> str:
    """The type as signatures spell it."""
    match type:
        case TensorType():
            return f"tensor({type.dtype.text})"
        case SequenceType(elem=TensorType() as elem):
            return f"seq({spelled(elem)})"
        case OptionalType(elem=TensorType() | SequenceType() as elem):
            return f"optional({spelled(elem)})"
    raise AssertionError(f"{type} does not occur in bodies")

"""Assertions about operator bodies as functions: nodes exist in the imported opset, types are allowed, sizes may be unknown."""

from __future__ import annotations

from collections.abc import Container, Mapping

import pytest

from cases import Case, assert_same, inference_of, model_of, permitted_body
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.walk import infer
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Node, OptionalType, SequenceType, TensorType, Type
from sardonyx._src.ir.references import Bindings
from sardonyx._src.ir.walk import graphs, nodes, values
from sardonyx._src.ops.bind import attributes_of, schema_of
from sardonyx._src.ops.function_bodies import body_of, parse_body
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import OpSchema, lookup


def assert_body_types(case: Case) -> None:
    """Asserts that the body for the types and attributes of the case uses existing operators on allowed types."""
    model = model_of(case)
    (node,) = model.graph.nodes
    schema = schema_of(node, model.opset_imports)
    op = find(case.domain, case.op)
    assert op is not None, f"{case} has no operator"
    infer(model)  # types of subgraphs can determine the body
    parse_body.cache_clear()  # inference writes types into the function
    function = permitted_body(op, inference_of(case, node, schema, model, known=True))
    if function is None:
        return
    model.functions[case.domain, case.op, ""] = function
    infer(model)
    names = [value.name for graph in graphs(function.body) for value in values(graph)]
    assert len(set(names)) == len(names), f"{case}: names of values of the body must be unique"
    read = {value.name for inner in nodes(function.body) for value in inner.inputs if value is not None}
    read |= {value.name for graph in graphs(function.body) for value in graph.outputs}
    for inner in nodes(function.body):  # attributes by reference are skipped: they are the caller's
        assert any(value.name in read for value in inner.outputs), (
            f"{case}: an output of {inner!r} must be used"
        )
        assert_node_types(
            inner, function.opset_imports, {**function.attributes, **node.attributes}, f"{case}: {inner!r}"
        )


def assert_body_without_sizes(case: Case, needed: Container[str]) -> None:
    """Asserts that the body for element types and ranks alone computes what the kernel does.

    needed: operators whose bodies require sizes.
    """
    model = model_of(case)
    (node,) = model.graph.nodes
    schema = schema_of(node, model.opset_imports)
    op = find(case.domain, case.op)
    assert op is not None, f"{case} has no operator"
    if op.is_random:
        return
    infer(model)  # types of subgraphs can determine the body
    inference = inference_of(case, node, schema, model, known=False)
    inference.inputs = [without_sizes(type) for type in inference.inputs]
    if case.op in needed:
        with pytest.raises(InferenceError, match="must be known"):
            body_of(op, inference)
        return
    function = permitted_body(op, inference)
    if function is None:
        return
    feeds = {f"x{i}": value for i, value in enumerate(case.inputs) if value is not None or i in case.types}
    expected = Interpreter(model_of(case)).run(feeds)
    model.functions[case.domain, case.op, ""] = function
    for name, actual in Interpreter(model).run(feeds).items():
        if expected[name] is not None:
            assert_same(actual, expected[name], exact=False, where=f"{case}: body, {name}")


def without_sizes(type: Type | None) -> Type | None:
    if not isinstance(type, TensorType) or type.shape is None:
        return type
    return TensorType(type.dtype, (None,) * len(type.shape))


def assert_node_types(node: Node, imports: Mapping[str, int], bindings: Bindings, where: str) -> None:
    schema = lookup(node.domain, node.op_type, imports[node.domain])
    assert schema is not None and not schema.deprecated, f"{where}: unknown operator"
    attributes_of(node, schema, bindings)
    assert schema.min_inputs <= len(node.inputs) <= (schema.max_inputs or len(node.inputs)), where
    bound: dict[str, str] = {}
    for i, value in enumerate(node.inputs):
        if value is not None:
            assert_type_allowed(schema, True, i, value.type, bound, where)
    for i, value in enumerate(node.outputs):
        assert_type_allowed(schema, False, i, value.type, bound, where)


def assert_type_allowed(
    schema: OpSchema, is_input: bool, i: int, type: Type | None, bound: dict[str, str], where: str
) -> None:
    """Asserts that a value's type is allowed, and the same as that of others with the same type variable."""
    parameter = schema.input(i) if is_input else schema.output(i)
    assert parameter is not None, f"{where}: {'input' if is_input else 'output'} {i} is one too many"
    if type is None:
        return
    spelling = type_text(type)
    assert spelling in schema.allowed_types(parameter), (
        f"{where}: {spelling} is not allowed for {parameter.name}"
    )
    if parameter.homogeneous:
        first = bound.setdefault(parameter.type, spelling)
        assert first == spelling, f"{where}: {parameter.type} must be one type; got {first} and {spelling}"


def type_text(type: Type) -> str:
    """The type in the notation of signatures."""
    match type:
        case TensorType():
            return f"tensor({type.dtype.text})"
        case SequenceType(elem=TensorType() as elem):
            return f"seq({type_text(elem)})"
        case OptionalType(elem=TensorType() | SequenceType() as elem):
            return f"optional({type_text(elem)})"
    raise AssertionError(f"{type} does not occur in bodies")

"""Operator test cases: operator, version, attributes, inputs and expected outputs, shared by all checks.

`assert_case` asserts that the schema accepts a case, the interpreter computes the expected values, and inference does not
contradict the results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from refusals import BODY_REFUSALS, REFUSALS
from sardonyx._src.convert.conversion import convert
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import ConversionError, InferenceError
from sardonyx._src.infer.walk import infer
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import (
    Array,
    Attribute,
    AttributeScalar,
    Function,
    Graph,
    MapType,
    Model,
    Node,
    OptionalType,
    SequenceType,
    SparseTensor,
    SparseTensorType,
    Tensor,
    TensorType,
    Type,
    Value,
)
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.verify import verify
from sardonyx._src.ops.api import Operator, RuntimeValue
from sardonyx._src.ops.bind import attributes_of, schema_of
from sardonyx._src.ops.function_bodies import body_of
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import OpSchema, lookup, newest

TOLERANCE = {np.dtype("f8"): (1e-9, 1e-12), np.dtype("f4"): (1e-5, 1e-6), np.dtype("f2"): (2e-3, 1e-4)}


@dataclass(frozen=True)
class Case:
    """One call of an operator.

    version: the operator set that the model imports; it means the operator's newest version up to it.
    inputs: None for an omitted optional input.  expected: one entry for each output; `...` leaves an output unchecked
    (random values); omitted trailing outputs are not requested.  types: of inputs whose values do not determine them
    (empty sequences, optionals).  label: what the case is about, for the test's name.
    """

    op: str
    version: int
    inputs: Sequence[RuntimeValue]
    expected: Sequence[object]
    attributes: Mapping[str, object] = field(default_factory=dict)
    label: str = ""
    domain: str = ""
    types: Mapping[int, Type] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.op}-{self.version}" + (f" {self.label}" if self.label else "")


def assert_case(case: Case) -> None:
    """Asserts the expected outputs of a case, and that inference, body and conversions agree with them."""
    model = model_of(case)
    feeds = {f"x{i}": value for i, value in enumerate(case.inputs) if value is not None or i in case.types}
    results = list(Interpreter(model, seed=1).run(feeds).values())
    op = find(case.domain, case.op)
    assert op is not None
    for i, (result, expected) in enumerate(zip(results, case.expected, strict=True)):
        if expected is not ...:
            assert_same(result, expected, exact=op.tolerance == "exact", where=f"{case} output {i}")
    assert_inference_fits(case, model, results)
    assert_body_agrees(case, model, feeds, results)
    assert_conversions_agree(case, feeds, results)


def assert_body_agrees(
    case: Case, model: Model, feeds: Mapping[str, RuntimeValue], results: Sequence[RuntimeValue]
) -> None:
    """Asserts that the operator's body, if it has one, computes what its kernel does."""
    (node,) = model.graph.nodes
    schema = schema_of(node, model.opset_imports)
    op = find(case.domain, case.op)
    assert op is not None
    if schema.since_version not in op.bodies or op.is_random:
        return
    infer(model)  # types of subgraphs can determine the body
    function = permitted_body(op, inference_of(case, node, schema, model, known=True))
    if function is None:
        return
    expanded = model_of(case)
    expanded.functions[case.domain, case.op, ""] = function
    other = Interpreter(expanded).run(feeds)
    for i, (mine, body) in enumerate(zip(results, other.values(), strict=True)):
        if mine is not None:
            assert_same(body, mine, exact=False, where=f"{case}: body, output {i}")


def permitted_body(op: Operator, inference: Inference) -> Function | None:
    """The body of a call; None for one that BODY_REFUSALS lists as being without."""
    try:
        function = body_of(op, inference)
    except InferenceError as error:
        if any(reason in str(error) for reason in BODY_REFUSALS.get(op.name, ())):
            return None
        raise
    assert function is not None, f"{op.name}-{inference.version} has no body"
    return function


def assert_conversions_agree(
    case: Case, feeds: Mapping[str, RuntimeValue], results: Sequence[RuntimeValue]
) -> None:
    """Asserts that the case computes the same when converted to the newest opset, and to the version before its own.

    A downward conversion may be refused; an upward one only if it is listed in `refusals`.
    """
    op = find(case.domain, case.op)
    assert op is not None
    schema = lookup(case.domain, case.op, case.version)
    if schema is None or op.tolerance == "random":
        return
    targets = [newest(case.domain)]
    if schema.since_version > 1:
        targets.append(schema.since_version - 1)
    for target in targets:
        other = convert_case(case, target)
        if other is None:
            continue
        verify(other)
        for i, (mine, actual) in enumerate(zip(results, Interpreter(other).run(feeds).values(), strict=True)):
            if case.expected[i] is not ...:
                exact = op.tolerance == "exact" and target > case.version
                assert_same(actual, mine, exact=exact, where=f"{case} under {target}, output {i}")


def convert_case(case: Case, target: int) -> Model | None:
    """The case's model under another operator set; None if that cannot express it; upwards only if listed in REFUSALS."""
    try:
        return convert(model_of(case), sets={case.domain: target})
    except ConversionError as error:
        schema = lookup(case.domain, case.op, case.version)
        known = REFUSALS.get((case.op, schema.since_version if schema is not None else 0), "")
        if target < case.version or (known and known in str(error)):
            return None
        raise


def model_of(case: Case) -> Model:
    """A model of one node, whose inputs are `x0`, `x1`, … and whose outputs are `y0`, `y1`, …"""
    graph = Graph("case")
    inputs: list[Value | None] = []
    for i, value in enumerate(case.inputs):
        given = value is not None or i in case.types
        inputs.append(graph.add_input(Value(f"x{i}", case.types.get(i) or type_of(value))) if given else None)
    outputs = [Value(f"y{i}") for i in range(len(case.expected))]
    attributes = {name: attribute(name, value) for name, value in case.attributes.items()}
    graph.append(Node(case.op, inputs, outputs, attributes, domain=case.domain))
    graph.outputs.extend(outputs)
    return Model(
        graph, ir_version=10, opset_imports={case.domain: case.version, "": 21} | {case.domain: case.version}
    )


def attribute(name: str, value: object) -> Attribute:
    """An attribute of the type that the Python value suggests; an Attribute is returned unchanged."""
    if isinstance(value, Attribute):
        return value
    converted, kind = scalar(value[0] if isinstance(value, list | tuple) and value else value)
    if isinstance(value, list | tuple):
        assert value, f"an empty list has no element type: pass {name} as an Attribute"
        return Attribute(name, AttributeType[kind.name + "S"], tuple(scalar(v)[0] for v in value))
    return Attribute(name, kind, converted)


def scalar(value: object) -> tuple[AttributeScalar, AttributeType]:
    if isinstance(value, bool | int | np.integer):
        return int(value), AttributeType.INT
    if isinstance(value, float):
        return value, AttributeType.FLOAT
    if isinstance(value, str):
        return value.encode(), AttributeType.STRING
    if isinstance(value, np.ndarray):
        return Tensor.of(value), AttributeType.TENSOR
    if isinstance(value, Graph):
        return value, AttributeType.GRAPH
    if isinstance(value, Tensor):
        return value, AttributeType.TENSOR
    if isinstance(value, SparseTensor):
        return value, AttributeType.SPARSE_TENSOR
    assert isinstance(value, TensorType | SequenceType | OptionalType | MapType | SparseTensorType), (
        f"{value!r}"
    )
    return value, AttributeType.TYPE_PROTO


def type_of(value: RuntimeValue) -> Type:
    """The type of a value, with dims; elements of a sequence keep the dims that they share."""
    if isinstance(value, np.ndarray):
        return TensorType(DataType.of(value.dtype), value.shape)
    if isinstance(value, SparseTensor):
        return SparseTensorType(value.dtype, value.shape)
    if isinstance(value, list):
        assert value, "an empty sequence has no element type: give it in `types`"
        return SequenceType(common_type(list(map(type_of, value))))
    if isinstance(value, dict):
        key = DataType.STRING if any(isinstance(k, str) for k in value) else DataType.INT64
        return MapType(key, type_of(next(iter(value.values()))))
    raise AssertionError(f"{value!r} does not determine its type: give it in `types`")


def common_type(types: Sequence[Type]) -> Type:
    first = types[0]
    if not isinstance(first, TensorType) or all(t == first for t in types):
        return first
    shapes = [t.shape for t in types if isinstance(t, TensorType) and t.shape is not None]
    if len({len(s) for s in shapes}) > 1:
        return TensorType(first.dtype)
    dims = tuple(d[0] if len(set(d)) == 1 else None for d in zip(*shapes, strict=True))
    return TensorType(first.dtype, dims)


# --- comparison ------------------------------------------------------------------------------


def assert_same(actual: object, expected: object, *, exact: bool, where: str) -> None:
    """Asserts equality of two run-time values: element type, shape and elements, NaN equal to NaN."""
    if isinstance(expected, SparseTensor) and isinstance(actual, SparseTensor):
        actual, expected = actual.numpy(), expected.numpy()
    if isinstance(expected, np.ndarray):
        assert isinstance(actual, np.ndarray), f"{where}: {type(actual).__name__}, not a tensor"
        assert actual.dtype == expected.dtype, f"{where}: {actual.dtype}, not {expected.dtype}"
        assert actual.shape == expected.shape, f"{where}: shape {actual.shape}, not {expected.shape}"
        assert_elements_equal(actual, expected, exact, where)
    elif isinstance(expected, list):
        assert isinstance(actual, list) and len(actual) == len(expected), (
            f"{where}: {actual!r}, not {expected!r}"
        )
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            assert_same(a, e, exact=exact, where=f"{where}[{i}]")
    elif isinstance(expected, dict):
        assert isinstance(actual, dict) and list(actual) == list(expected), (
            f"{where}: {actual!r}, not {expected!r}"
        )
        for key in expected:
            assert_same(actual[key], expected[key], exact=exact, where=f"{where}[{key!r}]")
    else:
        assert np.array_equal(np.asarray(actual), np.asarray(expected)), (
            f"{where}: {actual!r}, not {expected!r}"
        )


def bits(x: Array) -> Array:
    """The bytes of an array of an element type that NumPy cannot compare."""
    return np.frombuffer(np.ascontiguousarray(x).tobytes(), np.uint8)


def assert_elements_equal(actual: Array, expected: Array, exact: bool, where: str) -> None:
    if actual.dtype.kind in "OUSbiu" or exact:
        same = bits(actual) if actual.dtype.kind == "V" else actual
        reference = bits(expected) if actual.dtype.kind == "V" else expected
        equal = (
            same == reference
            if same.dtype.kind in "OUSbiu"
            else (same == reference) | ((same != same) & (reference != reference))
        )
        assert np.all(equal), f"{where}:\n{actual}\nis not\n{expected}"
        return
    rtol, atol = TOLERANCE.get(actual.dtype, (8e-3, 1e-3))
    wide = np.complex128 if actual.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol, atol, err_msg=where)


# --- inference -------------------------------------------------------------------------------


def assert_inference_fits(case: Case, model: Model, results: Sequence[RuntimeValue]) -> None:
    """Asserts that inference with full types, and again with known values, does not contradict the results."""
    (node,) = model.graph.nodes
    schema = schema_of(node, model.opset_imports)
    for known in (False, True):
        inference = inference_of(case, node, schema, model, known)
        op = find(case.domain, case.op)
        assert op is not None and schema.since_version in op.infers, f"{case} has no infer facet"
        answer = op.infers[schema.since_version](inference)
        types = list(answer) if isinstance(answer, Sequence) else [answer]
        for i, (type, result) in enumerate(zip(types, results, strict=False)):
            if type is not None:
                assert_fits(type, result, f"{case}: inference of output {i}")
        if known and schema.since_version in op.values:
            value = op.values[schema.since_version](inference)
            if value is not None and isinstance(results[0], np.ndarray):
                fits = [
                    v is None or v == r or (v != v and r != r)
                    for v, r in zip(value.reshape(-1), results[0].reshape(-1), strict=True)
                ]
                assert all(fits), f"{case}: the value facet gives {value}; got {results[0]}"


def inference_of(case: Case, node: Node, schema: OpSchema, model: Model, known: bool) -> Inference:
    types = [None if v is None else v.type for v in node.inputs]
    values = [x if known and isinstance(x, np.ndarray) else None for x in case.inputs]
    return Inference(
        op_type=case.op,
        version=schema.since_version,
        inputs=types,
        given=[v is not None for v in node.inputs],
        attributes=attributes_of(node, schema, {}),
        outputs=len(node.outputs),
        known=values,
    )


def assert_fits(declared: Type, result: RuntimeValue, where: str) -> None:
    """Asserts that a value is of an inferred type; dims that are not numbers fit any size."""
    if isinstance(declared, TensorType):
        assert isinstance(result, np.ndarray), f"{where}: {declared} for {type(result).__name__}"
        assert declared.dtype.numpy == result.dtype, f"{where}: {declared} for {result.dtype}"
        if declared.shape is not None:
            assert len(declared.shape) == result.ndim, f"{where}: {declared} for shape {result.shape}"
            fits = [
                not isinstance(d, int) or d == n for d, n in zip(declared.shape, result.shape, strict=True)
            ]
            assert all(fits), f"{where}: {declared} for shape {result.shape}"
    elif isinstance(declared, SequenceType):
        assert isinstance(result, list), f"{where}: {declared} for {type(result).__name__}"
        for i, element in enumerate(result):
            if declared.elem is not None:
                assert_fits(declared.elem, element, f"{where}[{i}]")
    elif isinstance(declared, OptionalType):
        if result is not None and declared.elem is not None:
            assert_fits(declared.elem, result, where)
    elif isinstance(declared, MapType):
        assert isinstance(result, dict), f"{where}: {declared} for {type(result).__name__}"

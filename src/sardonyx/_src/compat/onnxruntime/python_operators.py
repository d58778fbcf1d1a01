"""Operators of onnxruntime-extensions that are Python functions, as operators of a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Protocol

import numpy as np

from sardonyx._src.build.own_operators import DEFINITIONS, OwnOperator
from sardonyx._src.compat.kernel_signatures import declare_attributes
from sardonyx._src.compat.onnxruntime.exceptions import Fail
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType, Type
from sardonyx._src.schema import OpSchema
from sardonyx._src.schema.signature import AttributeSchema, AttributeTypeName, Parameter

ATTRIBUTE_TYPES: dict[int, AttributeTypeName] = {1: "FLOAT", 7: "INT", 8: "STRING"}  # by element type


class NativeDefinition(Protocol):
    """The element types, as numbers of TensorProto.DataType, that `@onnx_op` was given."""

    input_types: list[int]
    output_types: list[int]
    attrs: dict[str, int]


class PythonOperator(Protocol):
    """A definition by `@onnx_op`: `onnxruntime_extensions.Opdef`."""

    op_type: str
    body: Callable[..., object]
    _nativedef: NativeDefinition

    def __hash__(self) -> int: ...


@cache
def define_operator(domain: str, name: str, overloads: tuple[PythonOperator, ...]) -> Callable[..., object]:
    """The function of an operator, for `sardonyx.Session(operators=)`.

    overloads: a definition for each list of element types of the inputs.
    Raises Fail for two definitions of the same element types, as onnxruntime does.
    """
    by_types = {tuple(overload._nativedef.input_types): overload for overload in overloads}
    if len(by_types) != len(overloads):
        raise Fail.of(f"{domain}.{name} must have one definition for the same element types; got several")
    schema = schema_of(domain, name, [overload._nativedef for overload in overloads])
    kernel = kernel_of(name, by_types)
    declare_attributes(kernel, schema.attributes)
    DEFINITIONS[kernel] = OwnOperator(kernel, schema, type_rule(by_types), None, None, None, "exact")
    return kernel


def kernel_of(name: str, by_types: Mapping[tuple[int, ...], PythonOperator]) -> Callable[..., object]:
    """A kernel that calls the function for the element types of its inputs."""

    def kernel(*arrays: Array, **attributes: object) -> tuple[Array, ...]:
        types = tuple(int(DataType.of(array.dtype)) for array in arrays)
        if types not in by_types:
            raise ValueError(f"{name} has no definition for element types {types}")
        overload = by_types[types]
        results = overload.body(*map(np.array, arrays), **attributes)  # the function may write into copies
        return converted_results(name, results, overload._nativedef.output_types)

    return kernel


def type_rule(
    by_types: Mapping[tuple[int, ...], PythonOperator],
) -> Callable[..., Sequence[Type | None] | None]:
    """The element types of the outputs, by those of the inputs; ranks are not declared."""

    def infer(*inputs: Type | None, **_: object) -> Sequence[Type | None] | None:
        types = tuple(int(t.dtype) if isinstance(t, TensorType) else 0 for t in inputs)
        overload = by_types.get(types)
        if overload is None:
            return None
        return [TensorType(DataType.from_number(number), None) for number in overload._nativedef.output_types]

    return infer


def schema_of(domain: str, name: str, overloads: Sequence[NativeDefinition]) -> OpSchema:
    """The signature of an operator; an element type of several overloads is that of one of them."""
    first = overloads[0]
    for other in overloads:
        counts = len(other.input_types), len(other.output_types), other.attrs
        if counts != (len(first.input_types), len(first.output_types), first.attrs):
            raise Fail.of(
                f"the definitions of {domain}.{name} must have as many inputs and outputs, and the same attributes"
            )
    constraints: dict[str, tuple[str, ...]] = {}
    inputs = parameters("x", [o.input_types for o in overloads], constraints)
    outputs = parameters("y", [o.output_types for o in overloads], constraints)
    return OpSchema(
        domain,
        name,
        1,
        inputs=inputs,
        outputs=outputs,
        attributes=attributes_of(f"{domain}.{name}", first.attrs),
        type_constraints=constraints,
        min_inputs=len(inputs),
        max_inputs=len(inputs),
        min_outputs=1,
        max_outputs=len(outputs),
    )


def parameters(
    prefix: str, types: Sequence[Sequence[int]], constraints: dict[str, tuple[str, ...]]
) -> tuple[Parameter, ...]:
    """Parameters of these element types, by overload and position; adds the constraint of each."""
    result = []
    for position, choices in enumerate(zip(*types, strict=True)):
        variable = f"T{prefix}{position}"
        constraints[variable] = tuple(
            f"tensor({DataType.from_number(t).text})" for t in dict.fromkeys(choices)
        )
        result.append(Parameter(f"{prefix}{position}", variable))
    return tuple(result)


def attributes_of(operator: str, kinds: Mapping[str, int]) -> dict[str, AttributeSchema]:
    """The attributes of an operator, which nodes must have.  kinds: the element type of each."""
    for key, kind in kinds.items():
        if kind not in ATTRIBUTE_TYPES:
            raise Fail.of(
                f"attribute {key!r} of {operator} must be of int64, float or string; got type {kind}"
            )
    return {key: AttributeSchema(key, ATTRIBUTE_TYPES[kind], required=True) for key, kind in kinds.items()}


def converted_results(name: str, results: object, types: Sequence[int]) -> tuple[Array, ...]:
    """The results of a function as arrays of the declared element types; raises ValueError for others."""
    arrays = results if isinstance(results, tuple) else (results,)
    if len(arrays) < len(types):
        raise ValueError(f"{name} must return {len(types)} results; got {len(arrays)}")
    return tuple(
        converted(name, np.asarray(r), DataType.from_number(t)) for r, t in zip(arrays, types, strict=False)
    )


def converted(name: str, result: Array, dtype: DataType) -> Array:
    """A result with the element type, if that keeps its numbers up to rounding."""
    if dtype is DataType.STRING:
        if result.dtype.kind not in "OUT" or not all(isinstance(text, str) for text in result.flat):
            raise ValueError(f"{name} must return strings; got {result.dtype}")
        return result.astype(object)
    expected = dtype.numpy
    if not np.can_cast(result.dtype, expected, "same_kind"):
        raise ValueError(f"{name} must return {dtype.text}; got {result.dtype}")
    array = result.astype(expected)
    if expected.kind in "iu" and not np.array_equal(array, result):
        raise ValueError(f"{name} must return numbers that {dtype.text} can hold")
    return array

"""Signatures of operators that callers define, from the parameters of their functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import cast, get_type_hints

from sardonyx._src.arguments import texts_of
from sardonyx._src.build.attributes import element_type_of
from sardonyx._src.build.functions import ATTRIBUTE_TYPES, attribute_kind
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Graph
from sardonyx._src.ops.api import RunContext
from sardonyx._src.schema import OpSchema, lookup
from sardonyx._src.schema.signature import AttributeSchema, AttributeTypeName, Default, Option, Parameter

TENSORS = tuple(f"tensor({t.text})" for t in DataType if t is not DataType.UNDEFINED)
CONTEXT = "context"  # the parameter that is the run of the call


def tensor_types(variable: str, names: Sequence[str]) -> tuple[str, ...]:
    """The tensor types of a type variable, from the names of its element types."""
    try:
        return tuple(f"tensor({element_type_of(name).text})" for name in texts_of("types", names))
    except ValueError as error:
        raise InputError(f"types of {variable!r}: {error}", name="types") from None


def schema_of_function(
    function: Callable[..., object],
    domain: str,
    name: str,
    version: int,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    variables: Mapping[str, tuple[str, ...]],
) -> OpSchema:
    """The signature that a function's parameters declare."""
    parameters: list[Parameter] = []
    attributes: dict[str, AttributeSchema] = {}
    constraints = dict(variables)
    for key, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and key == CONTEXT:
            require_context(function, name)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            attributes[key] = attribute_schema(function, name, key, parameter)
        elif parameter.kind is parameter.VAR_KEYWORD:
            raise InputError(f"{name} must have named attributes only; got **{key}", name=key)
        else:
            kind = inputs.get(key, f"any {key}")
            if key not in inputs:
                constraints[kind] = TENSORS
            parameters.append(Parameter(key, kind, option_of(parameter), homogeneous=key in inputs))
    constraints.setdefault("any output", TENSORS)
    for kind in (*inputs.values(), *outputs.values()):
        if kind not in constraints and "(" not in kind:
            raise InputError(f"{kind!r} must be in `types`, or a type such as 'tensor(int64)'", name="types")
    least = sum(parameter.option == "single" for parameter in parameters)
    is_variadic = bool(parameters) and parameters[-1].option == "variadic"
    return OpSchema(
        domain,
        name,
        version,
        inputs=tuple(parameters),
        outputs=tuple(Parameter(key, kind) for key, kind in outputs.items()),
        attributes=attributes,
        type_constraints=constraints,
        min_inputs=least + is_variadic,
        max_inputs=None if is_variadic else len(parameters),
        min_outputs=len(outputs),
        max_outputs=len(outputs),
    )


def option_of(parameter: inspect.Parameter) -> Option:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return "variadic"
    return "single" if parameter.default is parameter.empty else "optional"


def attribute_schema(
    function: Callable[..., object], name: str, key: str, parameter: inspect.Parameter
) -> AttributeSchema:
    is_required = parameter.default is parameter.empty
    if get_type_hints(function).get(key) in (Graph, Graph | None):
        if not is_required and parameter.default is not None:
            raise InputError(
                f"attribute {key!r} of {name} must be a graph without a default, or None", name=key
            )
        return AttributeSchema(key, "GRAPH", required=is_required)
    kind, default = attribute_kind(function, name, key, parameter)
    if kind not in ATTRIBUTE_TYPES.values():
        raise InputError(f"attribute {key!r} of {name} must be of numbers, texts or a graph", name=key)
    value = None if default is None else cast(Default, default.value)
    return AttributeSchema(key, cast(AttributeTypeName, kind.name), required=default is None, default=value)


def require_context(function: Callable[..., object], name: str) -> None:
    """Raises InputError unless the parameter `context` is declared as the run of the call."""
    if get_type_hints(function).get(CONTEXT) is not RunContext:
        raise InputError(
            f"{CONTEXT!r} of {name} must be annotated with sardonyx.plugins.RunContext; no attribute has that name",
            name=CONTEXT,
        )


def vendor_signature(function: Callable[..., object], domain: str, name: str, version: int) -> OpSchema:
    """The signature of a vendor's operator, whose inputs and attributes must be the parameters of the function."""
    schema = lookup(domain, name, version)
    if schema is None:
        raise InputError(f"{domain} has no operator {name} in version {version}", name="name")
    parameters = inspect.signature(function).parameters
    attributes = {key for key, p in parameters.items() if p.kind is p.KEYWORD_ONLY} - {CONTEXT}
    inputs = [key for key, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
    if attributes != schema.attributes.keys() or len(inputs) != len(schema.inputs):
        expected = ", ".join((*(parameter.name for parameter in schema.inputs), "*", *schema.attributes))
        raise InputError(
            f"{name} must have the parameters ({expected}); got ({', '.join(parameters)})", name="function"
        )
    for key, attribute in schema.attributes.items():
        is_always_given = attribute.required or attribute.default is not None
        if not is_always_given and parameters[key].default is inspect.Parameter.empty:
            raise InputError(
                f"attribute {key!r} of {name} must have a default, since calls may omit it", name=key
            )
    return schema

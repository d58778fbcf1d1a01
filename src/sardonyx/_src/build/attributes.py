"""Attributes of calls: Python values as attributes of the type that the signature declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.arguments import shown
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Attribute, AttributeScalar, Graph, SparseTensor, Tensor, Type
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.build import attribute as implied_attribute
from sardonyx._src.ir.build import encode_text
from sardonyx._src.schema import OpSchema
from sardonyx._src.schema.signature import AttributeSchema
from sardonyx._src.suggestions import suggest


@dataclass(frozen=True, slots=True)
class AttributeParameter:
    """A reference to an attribute of the function under construction, by which its body uses the attribute."""

    name: str
    type: AttributeType


def attributes_of_call(
    op: str, schema: OpSchema | None, values: Mapping[str, object]
) -> dict[str, Attribute]:
    """The attributes of a node; values of None are left out.

    Attributes of operators without a known signature have the types that their values imply.

    Raises InputError for an attribute that the operator does not have, one of another type, and a missing one.
    """
    result: dict[str, Attribute] = {}
    for name, value in values.items():
        if value is not None:
            result[name] = new_attribute(op, schema, name, value)
    for declared in schema.attributes.values() if schema is not None else ():
        if declared.required and declared.name not in result:
            raise InputError(
                f"{op} must have the attribute {declared.name!r}; it is missing", name=declared.name
            )
    return result


def new_attribute(op: str, schema: OpSchema | None, name: str, value: object) -> Attribute:
    if isinstance(value, AttributeParameter):
        return Attribute(name, value.type, None, ref=value.name)
    if schema is None:
        return implied_attribute(name, value)
    declared = schema.attributes.get(name)
    if declared is None:
        hint = suggest(name, schema.attributes, "attributes")
        raise InputError(f"{op} has no attribute {name!r}{hint}", name=name)
    if isinstance(value, Attribute):
        return value
    return Attribute(name, AttributeType[declared.type], attribute_value(op, declared, value))


def attribute_value(
    op: str, declared: AttributeSchema, value: object
) -> AttributeScalar | tuple[AttributeScalar, ...]:
    """A Python value as the value of a declared attribute; for a list attribute, a number stands for a list of one."""
    kind = declared.type.removesuffix("S")
    if kind != declared.type:
        many = (
            list(value)
            if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)
            else [value]
        )
        return tuple(scalar_value(op, declared, kind, element) for element in many)
    return scalar_value(op, declared, kind, value)


def scalar_value(op: str, declared: AttributeSchema, kind: str, value: object) -> AttributeScalar:
    """A Python value as one element of an attribute; kind: the element type of the attribute."""
    match kind, value:
        case "INT", bool() | int() | np.integer() | np.bool_():
            return int(value)
        case "INT", DataType() | str() | type() | np.dtype() if is_dtype(value):
            return int(element_type_of(value))
        case "FLOAT", bool() | int() | float() | np.number():
            return float(value)
        case "STRING", str():
            return encode_text(declared.name, value)
        case "STRING", bytes():
            return value
        case "TENSOR", _ if not isinstance(value, SparseTensor | Graph | Type):
            return value if isinstance(value, Tensor) else Tensor.of(value)
        case "SPARSE_TENSOR", SparseTensor():
            return value
        case "GRAPH", Graph():
            return value
        case "TYPE_PROTO", _ if isinstance(value, Type):
            return value
    raise InputError(
        f"attribute {declared.name!r} of {op} must be {declared.type}; got {shown(value)}", name=declared.name
    )


def is_dtype(value: object) -> bool:
    try:
        element_type_of(value)
    except (TypeError, ValueError):
        return False
    return True


def element_type_of(value: object) -> DataType:
    """The element type that a DataType, a name ("float32", "float", "bfloat16") or a NumPy dtype stands for.

    Raises TypeError and ValueError for anything else.
    """
    if isinstance(value, DataType):
        return value
    if isinstance(value, str):
        return DataType.parse(NUMPY_NAMES.get(value, value))
    if isinstance(value, np.dtype | type):
        return DataType.of(value)
    raise TypeError(f"dtype must be a DataType, a name or a NumPy dtype; got {shown(value)}")


# NumPy's names of element types that ONNX names differently.
NUMPY_NAMES = {"float32": "float", "float64": "double", "str": "string", "object": "string"}

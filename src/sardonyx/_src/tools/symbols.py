"""Dimension variables of a model, and their substitution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from sardonyx._src.ir import (
    Attribute,
    AttributeScalar,
    AttributeValue,
    Graph,
    MapType,
    Node,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    TensorType,
    Type,
)
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim, Expr
from sardonyx._src.ir.walk import graphs, values

TYPE_ATTRIBUTES = (AttributeType.TYPE_PROTO, AttributeType.TYPE_PROTOS)


def dim_names(roots: Iterable[Graph]) -> set[str]:
    """The names of all variables in types, and expressions as text, since a file may use such text as a name."""
    names: set[str] = set()
    for dim in dims_in(roots):
        names |= dim.symbols()
        names.add(str(dim))
    return names


def dims_in(roots: Iterable[Graph]) -> Iterator[Expr]:
    """Every symbolic dim in the types of values and attributes, subgraphs included."""
    for graph in (g for root in roots for g in graphs(root)):
        for value in values(graph):
            yield from dims_of(value.type)
        for attribute in typed_attributes(graph):
            for scalar in scalars_of(attribute.value):
                yield from dims_of(scalar)


def dims_of(type: AttributeScalar | None) -> Iterator[Expr]:
    match type:
        case TensorType() | SparseTensorType():
            yield from (dim for dim in type.shape or () if isinstance(dim, Expr))
        case SequenceType() | OptionalType():
            yield from dims_of(type.elem)
        case MapType():
            yield from dims_of(type.value)


def substitute(roots: Iterable[Graph], mapping: Mapping[str, Dim]) -> None:
    """Substitute dims for variables, and for expressions whose text is exactly a key of `mapping`, all at once."""
    if not mapping:
        return
    for graph in (g for root in roots for g in graphs(root)):
        for value in values(graph):
            value.type = substitute_type(value.type, mapping)
        for attribute in typed_attributes(graph):
            attribute.value = substitute_attribute(attribute.value, mapping)
        for node in graph.nodes:
            rename_shards(node, mapping)


def substitute_type(type: Type | None, mapping: Mapping[str, Dim]) -> Type | None:
    """The type with dims substituted."""
    match type:
        case TensorType() | SparseTensorType() if type.shape is not None:
            return replace(type, shape=substitute_shape(type.shape, mapping))
        case SequenceType() | OptionalType():
            return replace(type, elem=substitute_type(type.elem, mapping))
        case MapType():
            return replace(type, value=substitute_type(type.value, mapping))
    return type


def substitute_shape(shape: Shape, mapping: Mapping[str, Dim]) -> Shape:
    return tuple(substitute_dim(dim, mapping) for dim in shape)


def substitute_dim(dim: Dim, mapping: Mapping[str, Dim]) -> Dim:
    if not isinstance(dim, Expr):
        return dim
    text = str(dim)
    return mapping[text] if text in mapping else dim.substitute(mapping)


def typed_attributes(graph: Graph) -> Iterator[Attribute]:
    for node in graph.nodes:
        yield from (a for a in node.attributes.values() if a.type in TYPE_ATTRIBUTES)


def scalars_of(value: AttributeValue) -> tuple[AttributeScalar, ...]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def substitute_attribute(value: AttributeValue, mapping: Mapping[str, Dim]) -> AttributeValue:
    if isinstance(value, tuple):
        return tuple(substitute_scalar(scalar, mapping) for scalar in value)
    return None if value is None else substitute_scalar(value, mapping)


def substitute_scalar(scalar: AttributeScalar, mapping: Mapping[str, Dim]) -> AttributeScalar:
    result = substitute_type(scalar, mapping) if isinstance(scalar, Type) else scalar
    assert result is not None, "substitution preserves types"
    return result


def rename_shards(node: Node, mapping: Mapping[str, Dim]) -> None:
    """Substitute dims named by a node's sharding."""
    for configuration in node.device_configurations:
        for spec in configuration.sharding_spec:
            for simple in (s for d in spec.sharded_dim for s in d.simple_sharding):
                if isinstance(simple.dim, str) and simple.dim in mapping:
                    dim = mapping[simple.dim]
                    simple.dim = str(dim) if isinstance(dim, Expr) else dim

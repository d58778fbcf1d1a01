"""Dimension variables of a model: which there are, and other dims put in their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim, Expr
from sardonyx._src.ir.graph import Attribute, AttributeScalar, AttributeValue, Graph, Node
from sardonyx._src.ir.types import (
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    TensorType,
    Type,
)
from sardonyx._src.ir.walk import graphs, values

TYPED = (AttributeType.TYPE_PROTO, AttributeType.TYPE_PROTOS)


def names_in(roots: Iterable[Graph]) -> set[str]:
    """The names of all variables in the types of graphs, and the texts of expressions, which may be meant as names."""
    found: set[str] = set()
    for dim in dims_in(roots):
        found |= dim.symbols()
        found.add(str(dim))
    return found


def dims_in(roots: Iterable[Graph]) -> Iterator[Expr]:
    """Every dim that is no number, of values and attributes of graphs and of those inside them."""
    for graph in (g for root in roots for g in graphs(root)):
        for value in values(graph):
            yield from dims_of(value.type)
        for attribute in typed_attributes(graph):
            for one in parts(attribute.value):
                yield from dims_of(one)


def dims_of(type: AttributeScalar | None) -> Iterator[Expr]:
    match type:
        case TensorType() | SparseTensorType():
            yield from (dim for dim in type.shape or () if isinstance(dim, Expr))
        case SequenceType() | OptionalType():
            yield from dims_of(type.elem)
        case MapType():
            yield from dims_of(type.value)


def substitute(roots: Iterable[Graph], mapping: Mapping[str, Dim]) -> None:
    """Puts dims in the place of variables, and of expressions of that very text, all at once."""
    if not mapping:
        return
    for graph in (g for root in roots for g in graphs(root)):
        for value in values(graph):
            value.type = substituted(value.type, mapping)
        for attribute in typed_attributes(graph):
            attribute.value = attribute_with(attribute.value, mapping)
        for node in graph.nodes:
            rename_shards(node, mapping)


def substituted(type: Type | None, mapping: Mapping[str, Dim]) -> Type | None:
    """The type with dims in the place of variables."""
    match type:
        case TensorType() | SparseTensorType() if type.shape is not None:
            return replace(type, shape=substituted_shape(type.shape, mapping))
        case SequenceType() | OptionalType():
            return replace(type, elem=substituted(type.elem, mapping))
        case MapType():
            return replace(type, value=substituted(type.value, mapping))
    return type


def substituted_shape(shape: Shape, mapping: Mapping[str, Dim]) -> Shape:
    return tuple(substituted_dim(dim, mapping) for dim in shape)


def substituted_dim(dim: Dim, mapping: Mapping[str, Dim]) -> Dim:
    if not isinstance(dim, Expr):
        return dim
    text = str(dim)
    return mapping[text] if text in mapping else dim.substitute(mapping)


def typed_attributes(graph: Graph) -> Iterator[Attribute]:
    for node in graph.nodes:
        yield from (a for a in node.attributes.values() if a.type in TYPED)


def parts(value: AttributeValue) -> tuple[AttributeScalar, ...]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def attribute_with(value: AttributeValue, mapping: Mapping[str, Dim]) -> AttributeValue:
    if isinstance(value, tuple):
        return tuple(type_with(one, mapping) for one in value)
    return None if value is None else type_with(value, mapping)


def type_with(one: AttributeScalar, mapping: Mapping[str, Dim]) -> AttributeScalar:
    found = substituted(one, mapping) if isinstance(one, Type) else one
    assert found is not None, "a type stays one"
    return found


def rename_shards(node: Node, mapping: Mapping[str, Dim]) -> None:
    """Puts dims in the place of those that a node's sharding names."""
    for configuration in node.device_configurations:
        for spec in configuration.sharding_spec:
            for simple in (s for d in spec.sharded_dim for s in d.simple_sharding):
                if isinstance(simple.dim, str) and simple.dim in mapping:
                    dim = mapping[simple.dim]
                    simple.dim = str(dim) if isinstance(dim, Expr) else dim

"""The IR version that a model needs for what it uses.

Clauses: the comments of `Version` in onnx.proto; the catalogue's VER rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sardonyx._src.errors import ConversionError, InputError
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Function, Graph, Model, Node, Value
from sardonyx._src.ir.names import Names
from sardonyx._src.ir.tensors import SparseTensor, Tensor
from sardonyx._src.ir.types import MapType, OpaqueType, OptionalType, SequenceType, SparseTensorType, Type
from sardonyx._src.ir.walk import graphs, location, roots, values
from sardonyx._src.proto.messages import Version

NEWEST = int(max(Version))
Need = tuple[int, str, str]  # the IR version, what needs it, where that is


def follow(model: Model, wanted: int | str | None, errors: list[ConversionError] | None) -> None:
    """Sets the IR version of a model: to a number, with "auto" to the lowest that will do, with None only upwards.

    Raises ConversionError for what a lower version cannot express; with `errors` it is listed, and the version is the
    lowest that can.
    """
    if (isinstance(wanted, str) and wanted != "auto") or (
        isinstance(wanted, int) and not 1 <= wanted <= NEWEST
    ):
        raise InputError(f'IR versions are 1 to {NEWEST} or "auto", not {wanted!r}', name="ir_version")
    needed = list(needs(model))
    least = max((version for version, _, _ in needed), default=3)
    if isinstance(wanted, int):
        target = wanted
    else:
        target = least if wanted == "auto" else max(model.ir_version, least)
    for version, what, where in needed:
        if version > target:
            error = ConversionError(
                f"{what} need IR version {version}; {target} is wanted", target=target, location=where
            )
            if errors is None:
                raise error
            errors.append(error)
    target = max(target, least)
    if target < 4:
        list_initializers(model)
    model.ir_version = target


def list_initializers(model: Model) -> None:
    """Makes inputs of all initializers, as IR versions up to 3 have it, where every one has to be an input.

    Those of subgraphs, whose inputs are not free to choose, go to the graph around.
    """
    for root in roots(model):
        names = Names([root])
        uses = Counter(v.name for graph in graphs(root) for v in values(graph))
        for inner in list(graphs(root))[1:]:
            for value in [v for v in inner.initializers.values() if v not in inner.inputs]:
                tensor = value.initializer
                inner.remove_initializer(value)
                uses[value.name] -= 1
                if uses[value.name]:
                    value.name = names.fresh(value.name)
                value.initializer = tensor
                root.add_initializer(value)
        for value in root.initializers.values():
            if value not in root.inputs:
                root.add_input(value)


def needs(model: Model) -> Iterator[Need]:
    """What in the model needs which IR version."""
    if model.opset_imports != {"": 1}:
        yield 3, "operator sets", ""
    if model.configurations:
        yield 11, "device configurations", ""
    if model.training:
        yield 7, "training graphs", ""
    for function in model.functions.values():
        yield from of_function(function)
    for root in roots(model):
        for graph in graphs(root):
            yield from of_graph(graph)


def of_function(function: Function) -> Iterator[Need]:
    where = function.label
    yield 8, "functions", where
    if function.overload:
        yield 10, "overloads", where
    if function.metadata:
        yield 10, "metadata of functions", where
    if any(default is not None for default in function.attributes.values()):
        yield 9, "defaults of a function's attributes", where
    if any(v.type is not None for v in values(function.body)):
        yield 10, "types inside functions", where


def of_graph(graph: Graph) -> Iterator[Need]:
    where = graph.name
    if graph.has_metadata:
        yield 10, "metadata of graphs", where
    if graph.quantization_annotations:
        yield 5, "quantization annotations", where
    for value in values(graph):
        yield from of_value(value)
    for node in graph.nodes:
        yield from of_node(node)


def of_value(value: Value) -> Iterator[Need]:
    if value.has_metadata:
        yield 10, "metadata of values", value.name
    if value.type is not None:
        yield from of_type(value.type, value.name)
    if value.initializer is not None:
        yield from of_tensor(value.initializer, value.name)


def of_tensor(tensor: Tensor | SparseTensor, where: str) -> Iterator[Need]:
    if isinstance(tensor, SparseTensor):
        yield 6, "sparse tensors", where
    yield tensor.dtype.ir_version, f"elements of {tensor.dtype.text}", where


def of_node(node: Node) -> Iterator[Need]:
    if node.overload:
        yield 10, "overloads", location(node)
    if node.has_metadata:
        yield 10, "metadata of nodes", location(node)
    if node.device_configurations:
        yield 11, "device configurations", location(node)
    for attribute in node.attributes.values():
        listed = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
        for one in listed:
            if isinstance(one, Tensor | SparseTensor):
                yield from of_tensor(one, node.name)
            elif attribute.type in (AttributeType.TYPE_PROTO, AttributeType.TYPE_PROTOS) and one is not None:
                assert isinstance(one, Type)
                yield 8, "attributes that hold types", node.name
                yield from of_type(one, node.name)


def of_type(type: Type, where: str) -> Iterator[Need]:
    match type:
        case OptionalType():
            yield 8, "optional types", where
            inner = type.elem
        case SparseTensorType():
            yield 8, "sparse tensor types", where
            inner = None
        case SequenceType():
            yield 6, "sequences", where
            inner = type.elem
        case MapType():
            yield 6, "maps", where
            inner = type.value
        case OpaqueType():
            yield 14, "opaque types", where
            inner = None
        case _:
            inner = None
            yield type.dtype.ir_version, f"elements of {type.dtype.text}", where
    if inner is not None:
        yield from of_type(inner, where)

"""The IR version that a model requires.

Spec: the comments of `Version` in onnx.proto.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from sardonyx._src.errors import ConversionError, InputError
from sardonyx._src.io.serde.declarations import is_described
from sardonyx._src.io.serde.from_proto import LATEST_IR_VERSION
from sardonyx._src.io.serde.types import FIRST_IR_WITHOUT_STARS
from sardonyx._src.ir import (
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
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.types import OpaqueType
from sardonyx._src.ir.walk import graphs, location, roots, values

IrNeed = tuple[int, str, str]  # the IR version, the feature that requires it, its location


def set_ir_version(model: Model, requested: int | str | None, errors: list[ConversionError] | None) -> None:
    """Set the IR version of a model.

    requested: a number; "auto" for the lowest version that has all features of the model; None to raise the version only
    if it lacks a feature.
    errors: if a list, it receives a ConversionError for each feature that the requested number lacks, and the version is
    raised.  If None, the error is raised.
    """
    if (isinstance(requested, str) and requested != "auto") or (
        isinstance(requested, int) and not 1 <= requested <= LATEST_IR_VERSION
    ):
        raise InputError(
            f'the IR version must be in 1 to {LATEST_IR_VERSION} or "auto"; got {requested!r}',
            name="ir_version",
        )
    needed = list(ir_needs(model))
    minimum = max((version for version, _, _ in needed), default=3)
    if isinstance(requested, int):
        target = requested
    else:
        target = minimum if requested == "auto" else max(model.ir_version, minimum)
    for version, what, where in needed:
        if version > target:
            error = ConversionError(
                f"{what} need IR version >= {version}; got {target}", target=target, location=where
            )
            if errors is None:
                raise error
            errors.append(error)
    target = max(target, minimum)
    if target < 4:
        add_initializer_inputs(model)
    elif model.ir_version < FIRST_IR_WITHOUT_STARS:
        leave_out_stars(model)
    model.ir_version = target


def leave_out_stars(model: Model) -> None:
    """Replaces shapes with a dim "*", which up to IR version 3 stands for any number of dims, by unknown shapes."""
    for graph in (graph for root in roots(model) for graph in graphs(root)):
        for value in values(graph):
            value.type = leave_out_star(value.type)


def leave_out_star(type: Type | None) -> Type | None:
    """The type without the dims that the file has for a shape of unknown rank, in elements of sequences and maps, too."""
    match type:
        case TensorType() | SparseTensorType() if type.shape is None:
            return replace(type, dim_placeholders=())
        case SequenceType() | OptionalType():
            return replace(type, elem=leave_out_star(type.elem))
        case MapType():
            return replace(type, value=leave_out_star(type.value))
    return type


def add_initializer_inputs(model: Model) -> None:
    """Make all initializers inputs, as IR versions up to 3 require.

    Initializers of subgraphs move to the outermost graph, since a subgraph cannot have more inputs.
    """
    for root in roots(model):
        names = FreshNames.of_graphs([root])
        uses = Counter(v.name for graph in graphs(root) for v in values(graph))
        for inner in list(graphs(root))[1:]:
            for value in [v for v in inner.initializers.values() if not inner.has_input(v)]:
                tensor = value.initializer
                inner.remove_initializer(value)
                uses[value.name] -= 1
                if uses[value.name]:
                    value.name = names.fresh(value.name)
                value.initializer = tensor
                root.add_initializer(value)
        for value in root.initializers.values():
            if not root.has_input(value):
                root.add_input(value)


def ir_needs(model: Model) -> Iterator[IrNeed]:
    """The features of a model, with the IR version that each requires."""
    if model.opset_imports != {"": 1}:
        yield 3, "operator sets", ""
    if model.configurations:
        yield 11, "device configurations", ""
    if model.training:
        yield 7, "training graphs", ""
    for function in model.functions.values():
        yield from needs_of_function(function)
    for root in roots(model):
        for graph in graphs(root):
            yield from needs_of_graph(graph)


def needs_of_function(function: Function) -> Iterator[IrNeed]:
    where = function.label
    yield 8, "functions", where
    if function.overload:
        yield 10, "overloads", where
    if function.metadata:
        yield 10, "metadata of functions", where
    if any(default is not None for default in function.attributes.values()):
        yield 9, "defaults of a function's attributes", where
    if function.body.declarations is not None and function.body.declarations.order:
        yield 10, "types inside functions", where


def needs_of_graph(graph: Graph) -> Iterator[IrNeed]:
    where = graph.name
    if graph.has_metadata:
        yield 10, "metadata of graphs", where
    if graph.quantization_annotations:
        yield 5, "quantization annotations", where
    for value in values(graph):
        yield from needs_of_value(value)
    for node in graph.nodes:
        yield from needs_of_node(node)


def needs_of_value(value: Value) -> Iterator[IrNeed]:
    if value.has_metadata:
        yield 10, "metadata of values", value.name
    if value.type is not None and not is_stored_sparse(value):
        yield from needs_of_type(value.type, value.name)
    if value.initializer is not None:
        yield from needs_of_tensor(value.initializer, value.name)


def is_stored_sparse(value: Value) -> bool:
    """Whether a value is a sparse initializer with just the type of its tensor, for which no value_info is written."""
    graph = value.graph
    if graph is None or not isinstance(value.initializer, SparseTensor) or is_described(value):
        return False
    return not graph.has_input(value) and value not in graph.outputs


def needs_of_tensor(tensor: Tensor | SparseTensor, where: str) -> Iterator[IrNeed]:
    if isinstance(tensor, SparseTensor):
        yield 6, "sparse tensors", where
    yield tensor.dtype.ir_version, f"elements of {tensor.dtype.text}", where


# Attribute types that every IR version has; their values are skipped, since the lists may be long.
NUMBERS_AND_STRINGS = frozenset(
    AttributeType[name] for name in ("FLOAT", "INT", "STRING", "FLOATS", "INTS", "STRINGS")
)


def needs_of_node(node: Node) -> Iterator[IrNeed]:
    if node.overload:
        yield 10, "overloads", location(node)
    if node.has_metadata:
        yield 10, "metadata of nodes", location(node)
    if node.device_configurations:
        yield 11, "device configurations", location(node)
    for attribute in node.attributes.values():
        if attribute.type in NUMBERS_AND_STRINGS:
            continue
        listed = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
        for item in listed:
            if isinstance(item, Tensor | SparseTensor):
                yield from needs_of_tensor(item, node.name)
            elif attribute.type in (AttributeType.TYPE_PROTO, AttributeType.TYPE_PROTOS) and item is not None:
                assert isinstance(item, Type)
                yield 8, "attributes that hold types", node.name
                yield from needs_of_type(item, node.name)


def needs_of_type(type: Type, where: str) -> Iterator[IrNeed]:
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
        yield from needs_of_type(inner, where)

"""Structural mutants: valid models with a few changes of their operators, edges, types, dims, data and nesting.

A mutation knows what a graph is, so that many mutants load and run; one mutant in four is damaged field by field instead.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from fuzz.seeds import Subject
from mutations import mutated_records
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.record import Record

FIELD_SHARE = 0.25  # of the mutants
DIMS = (0, 1, 2, 3, 5, 8, 17, 64, 1 << 20, 1 << 31, 1 << 40, -1)
ELEMENT_TYPES = (1, 1, 1, 2, 3, 5, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 21, 22, 23)
OPSETS = (
    1,
    2,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    16,
    17,
    18,
    19,
    20,
    21,
    22,
    23,
    24,
    25,
    26,
    27,
    28,
    29,
    1 << 40,
)
ELEMENT_BYTES = (b"\x00", b"\xff", b"\x7f", b"\x80", b"\x01")
Mutation = Callable[[m.GraphProto, random.Random], None]


def mutated_structure(subject: Subject, operators: list[str], rng: random.Random) -> bytes:
    """The bytes of a mutant of a subject; operators: the names that a node may change to."""
    if rng.random() < FIELD_SHARE:
        return mutated_records(subject.model, rng)
    model = decode(subject.model, m.ModelProto)
    for _ in range(rng.choice((1, 1, 2, 3))):
        if model.graph is None:
            break
        kind = rng.random()
        if kind < 0.06:
            change_opset(model, rng)
        elif kind < 0.14:
            rename_operator(model.graph, operators, rng)
        elif kind < 0.2:
            nest(model.graph, rng)
        else:
            rng.choice(GRAPH_MUTATIONS)(rng.choice(list(graphs(model.graph))), rng)
    return encode(model)


def graphs(graph: m.GraphProto) -> Iterator[m.GraphProto]:
    """A graph and its subgraphs."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner is not None:
                    yield from graphs(inner)


def copy_of(record: Record) -> Record:
    return decode(encode(record), type(record))


# --- operators and edges ---------------------------------------------------------------------


def change_opset(model: m.ModelProto, rng: random.Random) -> None:
    if model.opset_import:
        rng.choice(model.opset_import).version = rng.choice(OPSETS)


def rename_operator(graph: m.GraphProto, operators: list[str], rng: random.Random) -> None:
    if graph.node:
        rng.choice(graph.node).op_type = rng.choice(operators)


def rewire_input(graph: m.GraphProto, rng: random.Random) -> None:
    """A node reads another value: of any place, itself included, or none."""
    names = [*value_names(graph), ""]
    nodes = [node for node in graph.node if node.input]
    if nodes:
        node = rng.choice(nodes)
        node.input = list(node.input)
        node.input[rng.randrange(len(node.input))] = rng.choice(names)


def change_input_count(graph: m.GraphProto, rng: random.Random) -> None:
    """A node has one input more or fewer."""
    if not graph.node:
        return
    node = rng.choice(graph.node)
    inputs = list(node.input)
    if inputs and rng.random() < 0.5:
        inputs.pop(rng.randrange(len(inputs)))
    else:
        inputs.insert(rng.randrange(len(inputs) + 1), rng.choice([*value_names(graph), ""]))
    node.input = inputs


def change_output_count(graph: m.GraphProto, rng: random.Random) -> None:
    """A node has one output more, fewer, or omits one."""
    if not graph.node:
        return
    node = rng.choice(graph.node)
    outputs = list(node.output)
    draw = rng.random()
    if draw < 0.4:
        outputs.append(f"extra{rng.randrange(100)}")
        expose(graph, outputs[-1])
    elif outputs and draw < 0.7:
        outputs.pop()
    elif outputs:
        outputs[rng.randrange(len(outputs))] = ""
    node.output = outputs


def append_node(graph: m.GraphProto, rng: random.Random) -> None:
    """A copy of a node that reads what the first one computes, or the same values."""
    if not graph.node:
        return
    node = rng.choice(graph.node)
    copy = copy_of(node)
    assert isinstance(copy, m.NodeProto)
    copy.output = [name and f"{name}_copy{rng.randrange(1000)}" for name in node.output]
    if node.output and copy.input and rng.random() < 0.7:
        inputs = list(copy.input)
        inputs[0] = node.output[0]
        copy.input = inputs
    graph.node = [*graph.node, copy]
    for name in copy.output[:1]:
        expose(graph, name)


def remove_node(graph: m.GraphProto, rng: random.Random) -> None:
    if graph.node:
        nodes = list(graph.node)
        nodes.pop(rng.randrange(len(nodes)))
        graph.node = nodes


def shuffle_nodes(graph: m.GraphProto, rng: random.Random) -> None:
    nodes = list(graph.node)
    rng.shuffle(nodes)
    graph.node = nodes


def expose_value(graph: m.GraphProto, rng: random.Random) -> None:
    """Any value becomes an output, also an input or a constant."""
    names = [name for name in value_names(graph) if name]
    if names:
        expose(graph, rng.choice(names))


def expose(graph: m.GraphProto, name: str) -> None:
    graph.output = [*graph.output, m.ValueInfoProto(name=name)]


def value_names(graph: m.GraphProto) -> list[str]:
    names = [value.name for value in graph.input] + [tensor.name for tensor in graph.initializer]
    return names + [name for node in graph.node for name in node.output]


# --- types, dims and data --------------------------------------------------------------------


def tensor_types(graph: m.GraphProto) -> list[m.TypeProtoTensor]:
    """The declared tensor types of the inputs, twice as often as others."""
    values = [*graph.input, *graph.input, *graph.output, *graph.value_info]
    types = [value.type.tensor_type for value in values if value.type is not None]
    return [tensor for tensor in types if tensor is not None]


def change_dim(graph: m.GraphProto, rng: random.Random) -> None:
    """A declared dim becomes another number, a variable or open."""
    shapes = [tensor.shape for tensor in tensor_types(graph) if tensor.shape is not None and tensor.shape.dim]
    if not shapes:
        return
    dim = rng.choice(rng.choice(shapes).dim)
    dim.clear("dim_value")
    dim.clear("dim_param")
    draw = rng.random()
    if draw < 0.5:
        dim.dim_value = rng.choice(DIMS)
    elif draw < 0.8:
        dim.dim_param = rng.choice(("N", "M", "N", "2*N", "N+M", "?"))


def open_dims(graph: m.GraphProto, rng: random.Random) -> None:
    """All dims of all inputs become variables; the outputs have no types."""
    for i, value in enumerate(graph.input):
        tensor = value.type.tensor_type if value.type is not None else None
        for axis, dim in enumerate(
            tensor.shape.dim if tensor is not None and tensor.shape is not None else ()
        ):
            dim.clear("dim_value")
            dim.dim_param = f"L{i}_{axis}"
    for value in graph.output:
        value.clear("type")


def change_rank(graph: m.GraphProto, rng: random.Random) -> None:
    """A declared shape has a dim more or fewer, or is left out."""
    types = tensor_types(graph)
    if not types:
        return
    tensor = rng.choice(types)
    dims = list(tensor.shape.dim) if tensor.shape is not None else []
    draw = rng.random()
    if draw < 0.15:
        tensor.clear("shape")
        return
    if dims and draw < 0.6:
        dims.pop(rng.randrange(len(dims)))
    else:
        dims.insert(
            rng.randrange(len(dims) + 1), m.TensorShapeProtoDimension(dim_value=rng.choice((0, 1, 2, 3)))
        )
    tensor.shape = m.TensorShapeProto(dim=dims)


def change_element_type(graph: m.GraphProto, rng: random.Random) -> None:
    types = tensor_types(graph)
    if types:
        rng.choice(types).elem_type = rng.choice(ELEMENT_TYPES)


def change_all_element_types(graph: m.GraphProto, rng: random.Random) -> None:
    """All tensors of one element type get another one; the outputs have no types."""
    types = tensor_types(graph)
    if not types:
        return
    old, new = rng.choice(types).elem_type, rng.choice(ELEMENT_TYPES)
    for tensor in types:
        if tensor.elem_type == old:
            tensor.elem_type = new
    for value in graph.output:
        value.clear("type")


def change_data(graph: m.GraphProto, rng: random.Random) -> None:
    """Elements of an initializer or of a tensor attribute become zero, extreme or random."""
    tensors = [*graph.initializer]
    tensors += [a.t for node in graph.node for a in node.attribute if a.t is not None]
    if not tensors:
        return
    tensor = rng.choice(tensors)
    if len(tensor.raw_data):
        data = bytearray(tensor.raw_data)
        start = rng.randrange(len(data))
        size = min(rng.choice((1, 4, 8, len(data))), len(data) - start)
        data[start : start + size] = (
            rng.choice(ELEMENT_BYTES) * size if rng.random() < 0.7 else rng.randbytes(size)
        )
        tensor.raw_data = bytes(data)
    elif len(tensor.int64_data):
        numbers = [int(number) for number in tensor.int64_data]
        numbers[rng.randrange(len(numbers))] = rng.choice(
            (0, 1, -1, 2, 7, 1 << 31, (1 << 63) - 1, -(1 << 63))
        )
        tensor.int64_data = numbers


def change_tensor_dims(graph: m.GraphProto, rng: random.Random) -> None:
    """The dims of an initializer are permuted, flattened or extended by 1."""
    if not graph.initializer:
        return
    tensor = rng.choice(graph.initializer)
    dims = [int(dim) for dim in tensor.dims]
    draw = rng.random()
    if draw < 0.5:
        rng.shuffle(dims)
    elif draw < 0.8:
        dims.insert(rng.randrange(len(dims) + 1), 1)
    elif dims:
        dims.pop(rng.randrange(len(dims)))
    tensor.dims = dims


# --- nesting ---------------------------------------------------------------------------------


def nest(graph: m.GraphProto, rng: random.Random) -> None:
    """The nodes of the graph move into the branches of an If, or into the body of a Loop."""
    outputs = [value.name for value in graph.output]
    if not outputs or not graph.node:
        return
    body = m.GraphProto(
        name="nested", node=list(graph.node), output=[m.ValueInfoProto(name=name) for name in outputs]
    )
    tag = rng.randrange(1 << 30)
    if rng.random() < 0.6:
        condition = constant(f"condition{tag}", 9, [], bytes([rng.randrange(2)]))
        other = copy_of(body)
        branches = [
            m.AttributeProto(name="then_branch", type=5, g=body),
            m.AttributeProto(name="else_branch", type=5, g=other),
        ]
        node = m.NodeProto(op_type="If", input=[condition.output[0]], output=outputs, attribute=branches)
        graph.node = [condition, node]
        return
    count = constant(f"count{tag}", 7, [], rng.choice((0, 1, 3)).to_bytes(8, "little"))
    body.input = [
        m.ValueInfoProto(name=f"iteration{tag}", type=scalar_type(7)),
        m.ValueInfoProto(name=f"going{tag}", type=scalar_type(9)),
    ]
    body.output = [m.ValueInfoProto(name=f"going{tag}"), *body.output]
    loop = m.NodeProto(
        op_type="Loop",
        input=[count.output[0], ""],
        output=outputs,
        attribute=[m.AttributeProto(name="body", type=5, g=body)],
    )
    graph.node = [count, loop]
    for value in graph.output:
        value.clear("type")


def constant(name: str, element_type: int, dims: list[int], data: bytes) -> m.NodeProto:
    tensor = m.TensorProto(dims=dims, data_type=element_type, raw_data=data)
    return m.NodeProto(
        op_type="Constant", output=[name], attribute=[m.AttributeProto(name="value", type=4, t=tensor)]
    )


def scalar_type(element_type: int) -> m.TypeProto:
    return m.TypeProto(
        tensor_type=m.TypeProtoTensor(elem_type=element_type, shape=m.TensorShapeProto(dim=[]))
    )


GRAPH_MUTATIONS: tuple[Mutation, ...] = (
    rewire_input, rewire_input, change_input_count, change_output_count, append_node, remove_node, shuffle_nodes,
    expose_value, change_dim, change_dim, open_dims, change_rank, change_element_type, change_all_element_types,
    change_data, change_data, change_tensor_dims,
)  # fmt: skip

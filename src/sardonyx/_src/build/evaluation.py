"""Values of operands while their model is under construction."""

from __future__ import annotations

from sardonyx._src.build.operand import Operand
from sardonyx._src.errors import InputError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Graph, Model, Node, Value
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.model import clone_function
from sardonyx._src.ir.walk import graphs
from sardonyx._src.ops.api import RuntimeValue


def compute_value(model: Model, operand: Operand) -> object:
    """The value of an operand of the main graph; see `Operand.numpy`."""
    if operand.owner is not model.graph:
        raise InputError(
            f"{operand.name!r} must be a value of the main graph to be computed; it is in a subgraph or function",
            name=operand.name,
        )
    if operand.initializer is not None:
        return operand.initializer.numpy() if hasattr(operand.initializer, "numpy") else operand.initializer
    nodes, inputs = ancestors(model.graph, operand)
    feeds = {value.name: example_of(value, operand) for value in inputs}
    part = copy_part(model, nodes, inputs, operand)
    return Interpreter(part).run(feeds)[operand.name]


def ancestors(graph: Graph, operand: Operand) -> tuple[list[Node], list[Value]]:
    """The nodes of the main graph that an operand depends on, in order, and the inputs."""
    needed: set[Node] = set()
    inputs: dict[Value, None] = {}
    pending: list[Value] = [operand]
    while pending:
        value = pending.pop()
        if value.owner is not graph or value.initializer is not None:
            continue
        node = value.producer
        if node is None:
            inputs[value] = None
        elif node not in needed:
            needed.add(node)
            pending.extend(v for v in node.inputs if v is not None)
            for inner in (g for subgraph in node.subgraphs for g in graphs(subgraph)):
                pending.extend(v for n in inner.nodes for v in n.inputs if v is not None)
                pending.extend(inner.outputs)
    return [node for node in graph.nodes if node in needed], list(inputs)


def example_of(value: Value, operand: Operand) -> RuntimeValue:
    example = value.example if isinstance(value, Operand) else None
    if example is None:
        raise InputError(
            f"the input {value.name!r}, on which {operand.name!r} depends, must have an example to compute with; "
            "pass b.input(..., example=array)",
            name=value.name,
        )
    return example  # type: ignore[return-value]  # the kernels check it


def copy_part(model: Model, nodes: list[Node], inputs: list[Value], operand: Operand) -> Model:
    """A model of copies of these nodes, with the operand as its output."""
    copier = Copier()
    graph = Graph("part")
    for value in inputs:
        graph.add_input(copier.value(value))
    for value in model.graph.initializers.values():
        graph.add_initializer(copier.value(value))
    for node in nodes:
        graph.append(copier.node(node))
    graph.outputs.append(copier.resolve(operand))
    part = Model(graph, ir_version=model.ir_version, opset_imports=dict(model.opset_imports))
    part.functions = {key: clone_function(function) for key, function in model.functions.items()}
    return part

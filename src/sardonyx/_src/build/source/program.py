"""A model as a program for `Builder`, which rebuilds it."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator
from dataclasses import field

from sardonyx._src.arguments import require_type
from sardonyx._src.build.source.untaken import untaken_branches
from sardonyx._src.build.source.values import (
    PythonNames,
    dtype_text,
    number_text,
    sparse_text,
    tensor_arguments,
    tensor_text,
    type_text,
)
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import (
    Attribute,
    Function,
    Graph,
    Model,
    Node,
    SparseTensor,
    Tensor,
    TensorType,
    Type,
    Value,
)
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.model import FunctionKey, require_model
from sardonyx._src.ir.walk import nodes

MAX_INLINE_ELEMENTS = (
    8  # elements of an initializer up to which it is written into the program rather than read from the file
)
ELEMENT_TYPE_ATTRIBUTES = ("to", "dtype")
ANNOTATIONS = {
    AttributeType.INT: "int",
    AttributeType.FLOAT: "float",
    AttributeType.STRING: "str",
    AttributeType.INTS: "list[int]",
    AttributeType.FLOATS: "list[float]",
    AttributeType.STRINGS: "list[str]",
}


def to_python(model: Model, *, file: str | None = None) -> str:
    """A program whose variable `model` is an equivalent model, written for `sx.Builder`.

    Nodes, names, attributes and constants of the main graph are the same; initializers of subgraphs move to the main graph,
    and inner values of subgraphs and functions get names that the builder chooses.
    file: the path of the model's file, from which the program reads large weights; by default they are written in base64.
    Raises InputError for features that a builder does not support: training information, overloads, functions with imports
    of their own, device configurations.
    """
    require_model(model)
    require_type("file", file, (str, type(None)), "a path of type str or None")
    refuse_unsupported(model)
    writer = ProgramWriter(model, file, untaken_branches(model))
    body = list(writer.lines())
    head = ["import numpy as np", "", "import sardonyx as sx"]
    text = "\n".join(body)
    if "base64." in text:
        head.insert(0, "import base64\n")
    if "ir." in text:
        head.append("from sardonyx import ir")
    return "\n".join([*head, "", text, ""])


def refuse_unsupported(model: Model) -> None:
    if model.training:
        raise InputError("a builder makes no training information; write the inference model", name="model")
    for function in model.functions.values():
        if function.overload:
            raise InputError(f"a builder makes no overloads; {function.label} is one", name="model")
        if any(model.opset_imports.get(domain) != v for domain, v in function.opset_imports.items()):
            raise InputError(
                f"functions of a builder have the imports of the model; {function.label} has others; convert the model first",
                name="model",
            )


@dataclass(slots=True)
class ProgramWriter:
    """Writes the statements in order.

    file: the path of the model's file, None if it is not known.
    untaken: the branches that no run takes: a builder would reject some of their operators, as inference does not visit them.
    names: the Python names in use.
    variables: the Python variable of each value.
    variables_of_functions: the Python variable of each function.
    """

    model: Model
    file: str | None
    untaken: Container[Graph]
    names: PythonNames = field(default_factory=PythonNames)
    variables: dict[Value, str] = field(default_factory=dict)
    variables_of_functions: dict[FunctionKey, str] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        model, graph = self.model, self.model.graph
        yield self.head()
        if self.file is not None:
            yield f"weights = sx.load({json.dumps(self.file)}).graph.initializers"
        yield ""
        inputs = set(graph.inputs)
        for value in graph.inputs:
            yield self.input(value)
        for value in graph.initializers.values():
            if value not in inputs:
                yield self.initializer(value, value.name)
        for function in model.functions.values():
            yield from self.function(function)
        yield from self.nodes(graph, "")
        yield ""
        yield from self.outputs()

    def head(self) -> str:
        imports = {d: v for d, v in self.model.opset_imports.items() if d}
        more = f", imports={imports!r}" if imports else ""
        opset = self.model.opset_imports.get("")
        if opset is None:
            opset = 21
        return f"b = sx.Builder(opset={opset}, name={self.model.graph.name!r}{more})"

    def input(self, value: Value) -> str:
        arguments = (
            tensor_arguments(value.type) if isinstance(value.type, TensorType) else type_text(value.type)
        )
        if isinstance(value.initializer, Tensor):
            arguments += f", default={self.data(value.initializer, value.name)}"
        return f"{self.define(value)} = b.input({value.name!r}, {arguments})"

    def initializer(self, value: Value, name: str) -> str:
        tensor = value.initializer
        text = sparse_text(tensor) if isinstance(tensor, SparseTensor) else ""
        if isinstance(tensor, Tensor):
            text = self.data(tensor, value.name)
        return f"{self.define(value)} = b.constant({name!r}, {text})"

    def data(self, tensor: Tensor, name: str) -> str:
        """An expression for the elements of an initializer: a literal, or a reference to the model's file."""
        is_stored = self.file is not None and name in self.model.graph.initializers
        count = 1
        for size in tensor.shape:
            count *= size
        if is_stored and count > MAX_INLINE_ELEMENTS:
            return f"weights[{name!r}].initializer"
        return tensor_text(tensor)

    def define(self, value: Value) -> str:
        self.variables[value] = self.names.take(value.name)
        return self.variables[value]

    def outputs(self) -> Iterator[str]:
        for value in self.model.graph.outputs:
            declared = f", {type_text(value.type)}" if value.type is not None else ""
            yield f"b.output({self.variables[value]}, {value.name!r}{declared})"
        producer = json.dumps(self.model.producer_name)
        yield f"model = b.model(ir_version={max(self.model.ir_version, 3)}, producer={producer})"

    # --- nodes --------------------------------------------------------------------------------

    def nodes(self, graph: Graph, indent: str) -> Iterator[str]:
        """The statements of a graph's nodes; indent: "" in the main graph, whose values keep their names."""
        for node in graph.nodes:
            bodies: dict[str, str] = {}
            for attribute in node.attributes.values():
                for i, subgraph in enumerate(attribute.graphs):
                    bodies[f"{attribute.name}_{i}"] = name = self.names.take(attribute.name)
                    yield from self.subgraph(subgraph, name, indent)
            yield indent + self.call(node, bodies, keeps_names=graph is self.model.graph)

    def subgraph(self, graph: Graph, name: str, indent: str) -> Iterator[str]:
        """A Python function that appends a subgraph."""
        yield ""
        for value in graph.initializers.values():
            yield indent + self.initializer(value, self.names.take(f"{name}_{value.name}"))
        parameters = ", ".join(self.define(value) for value in graph.inputs)
        yield f"{indent}def {name}({parameters}):"
        inner = indent + "    "
        yield from self.nodes(graph, inner)
        yield f"{inner}return {self.tuple(graph.outputs)}"
        yield ""

    def tuple(self, values: Iterable[Value]) -> str:
        parts = [self.variables[value] for value in values]
        return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"

    def call(self, node: Node, bodies: dict[str, str], *, keeps_names: bool) -> str:
        """The statement of a node."""
        inputs = ["None" if value is None else self.variables[value] for value in node.inputs]
        keywords = [self.keyword(node, attribute, bodies) for attribute in node.attributes.values()]
        key = (node.domain, node.op_type, node.overload)
        results = [self.define(value) if value.name else "_" for value in node.outputs]
        target = ", ".join(results)
        if node.name:
            keywords.append(f"name={node.name!r}")
        outputs = [
            value.name if keeps_names else self.names.take(value.name or "_") for value in node.outputs
        ]
        outputs = [text if value.name else "" for text, value in zip(outputs, node.outputs, strict=True)]
        if keeps_names or len(outputs) > 1:
            keywords.append(f"outputs={outputs[0]!r}" if len(outputs) == 1 else f"outputs={outputs!r}")
        if key in self.model.functions:
            inputs += ["None"] * (len(self.model.functions[key].body.inputs) - len(inputs))
            return f"{target} = {self.variables_of_functions[key]}({', '.join(inputs + keywords)})"
        if node.domain:
            keywords.append(f"domain={node.domain!r}")
        if node.domain or not node.op_type.isidentifier():
            return f"{target} = b.op({', '.join([repr(node.op_type), *inputs, *keywords])})"
        return f"{target} = b.{node.op_type}({', '.join(inputs + keywords)})"

    def keyword(self, node: Node, attribute: Attribute, bodies: dict[str, str]) -> str:
        value = self.attribute(node, attribute, bodies)
        if attribute.name.isidentifier() and attribute.name not in ("name", "outputs", "domain"):
            return f"{attribute.name}={value}"
        return f"**{{{attribute.name!r}: {value}}}"

    def attribute(self, node: Node, attribute: Attribute, bodies: dict[str, str]) -> str:
        if attribute.ref:
            return attribute.ref
        value = attribute.value
        if attribute.graphs:
            texts = [
                self.graph_text(g, bodies[f"{attribute.name}_{i}"]) for i, g in enumerate(attribute.graphs)
            ]
            return texts[0] if attribute.type is AttributeType.GRAPH else f"[{', '.join(texts)}]"
        if attribute.type is AttributeType.INT and attribute.name in ELEMENT_TYPE_ATTRIBUTES:
            return element_type_text(value)
        if isinstance(value, tuple):
            if not value:
                return f"ir.Attribute({attribute.name!r}, ir.AttributeType.{attribute.type.name}, ())"
            return f"[{', '.join(scalar_text(element) for element in value)}]"
        return scalar_text(value)

    def graph_text(self, graph: Graph, name: str) -> str:
        types = [type_text(value.type) for value in graph.inputs]
        untaken = ["taken=False"] if graph in self.untaken else []
        return f"b.subgraph({', '.join([name, *types, *untaken])})"

    # --- functions ----------------------------------------------------------------------------

    def function(self, function: Function) -> Iterator[str]:
        """A decorated Python function for a model-local one."""
        outer, self.names = self.names, PythonNames()
        self.names.taken |= outer.taken
        name = outer.take(function.name)
        self.variables_of_functions[function.key] = name
        parameters = [self.define(value) for value in function.body.inputs]
        attributes = [self.parameter(function, key, default) for key, default in function.attributes.items()]
        if attributes:
            parameters += ["*", *attributes]
        yield ""
        yield f"@b.function(domain={function.domain!r}, name={function.name!r})"
        yield f"def {name}({', '.join(parameters)}):"
        yield from self.nodes(function.body, "    ")
        yield f"    return {self.tuple(function.body.outputs)}"
        yield ""
        self.names = outer

    def parameter(self, function: Function, key: str, default: Attribute | None) -> str:
        if default is not None:
            return f"{key}: {ANNOTATIONS[default.type]} = {scalar_or_list(default)}"
        uses = [a for node in nodes(function.body) for a in node.attributes.values() if a.ref == key]
        if not uses or uses[0].type not in ANNOTATIONS:
            raise InputError(
                f"attribute {key!r} of {function.label} must have a type of numbers or texts", name=key
            )
        return f"{key}: {ANNOTATIONS[uses[0].type]}"


def scalar_or_list(attribute: Attribute) -> str:
    value = attribute.value
    return f"[{', '.join(map(scalar_text, value))}]" if isinstance(value, tuple) else scalar_text(value)


def scalar_text(value: object) -> str:
    """An element of an attribute as an expression."""
    match value:
        case bytes():
            try:
                return repr(value.decode())
            except UnicodeDecodeError:
                return repr(value)
        case Tensor():
            return tensor_text(value)
        case SparseTensor():
            return sparse_text(value)
    if isinstance(value, Type):
        return type_text(value)
    return number_text(value)


def element_type_text(value: object) -> str:
    """The number of an element type as its name, if it has one."""
    try:
        return dtype_text(DataType.from_number(value)) if isinstance(value, int) else number_text(value)
    except ValueError:
        return number_text(value)

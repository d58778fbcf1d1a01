"""A model in which each layer can be switched to its quantized form: one program for the error of each layer alone.

The result of a layer becomes Where(switch, quantized form, original form), whose switch is an input.  The quantized form is what
the quantized model computes the result from, back to values of the original model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Graph, Model, Node, TensorType, Value
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.tools.extract import extract
from sardonyx._src.tools.reachability import BackwardSlice

DEQUANTIZED = ("DequantizeLinear", "Cast")  # how the weight of a layer is read


class SwitchedModel:
    """A copy of the original model with switches.

    model: the copy.
    switches: the inputs by layer, bool scalars; layers whose form is not that of a result of the original have none.
    """

    def __init__(self, original: Model, quantized: Model, layers: Sequence[str]) -> None:
        self.original, self.quantized, self.model = original, quantized, original.copy()
        for domain, version in quantized.opset_imports.items():
            self.model.opset_imports.setdefault(domain, version)
        graph = self.model.graph
        self.values = {value.name: value for value in graph.inputs if value.initializer is None}
        self.order = dict.fromkeys(self.values, -1)
        for number, node in enumerate(graph.nodes):
            for value in node.outputs:
                self.values[value.name], self.order[value.name] = value, number
        self.edit = Edit(self.model)
        self.switches: dict[str, str] = {}
        for number, layer in enumerate(layers):
            self.add_switch(layer, f"sardonyx_switch_{number}")

    def add_switch(self, layer: str, name: str) -> None:
        """Adds the switch of a layer to all nodes that read its weight."""
        names = list(results_of(self.quantized.graph, layer))
        nodes = [node for key in names if (node := self.producer(key)) is not None]
        forms = [self.forms_of(key, node) for key, node in zip(names, nodes, strict=False)]
        if not names or len(nodes) < len(names) or None in forms:
            return
        switch = Value(name, TensorType(DataType.BOOL, ()))
        self.model.graph.add_input(switch)
        self.switches[layer] = name
        for node, form in zip(nodes, forms, strict=True):
            results = [self.copy(graph, node) for graph in form or ()]
            self.edit.replace(node, "Where", [switch, *results])

    def forms_of(self, key: str, node: Node) -> tuple[Graph, Graph] | None:
        """What computes a result in the quantized model and in the original; None if that cannot replace one another."""
        known = {name for name, number in self.order.items() if number < self.order[key]}
        operands = [value.name for value in node.inputs if value is not None and value.name in self.values]
        try:
            quantized = extract(
                self.quantized, inputs=boundary_of(self.quantized.graph, key, known), outputs=[key]
            )
            exact = extract(self.original, inputs=operands, outputs=[key])
        except InputError:  # it depends on what the original does not compute
            return None
        forms = quantized.graph, exact.graph
        fits = all(self.has_type(value) for value in forms[0].inputs)
        return forms if fits and forms[0].outputs[0].type == forms[1].outputs[0].type else None

    def has_type(self, value: Value) -> bool:
        """Whether a value of the quantized model has the element type of the original's, unlike one in half precision."""
        known = self.edit.type(self.values[value.name])
        return known is not None and isinstance(value.type, TensorType) and known.dtype is value.type.dtype

    def producer(self, key: str) -> Node | None:
        """The node of the original that computes a result, if it computes nothing else."""
        value = self.values.get(key)
        node = None if value is None else value.producer
        return (
            node if node is not None and len(node.outputs) == 1 and node.graph is self.model.graph else None
        )

    def copy(self, graph: Graph, before: Node) -> Value:
        return self.edit.copy(graph, [self.values[value.name] for value in graph.inputs], before=before)[0]


def results_of(graph: Graph, layer: str) -> Iterator[str]:
    """The results of the nodes of a layer: of the node or result of its name, and of others that read its weight."""
    for node in graph.nodes:
        if node.outputs and layer in (node.name, node.outputs[0].name):
            weights = [value for value in node.inputs if value is not None and is_weight(value)]
            others = [reader for value in weights for reader, _ in value.uses]
            readers = dict.fromkeys([node, *(reader for reader in others if reader.graph is graph)])
            yield from (reader.outputs[0].name for reader in readers)
            return


def is_weight(value: Value) -> bool:
    """Whether a value is dequantized from a constant."""
    node = value.producer
    return (
        node is not None
        and node.op_type in DEQUANTIZED
        and all(operand is None or operand.initializer is not None for operand in node.inputs)
    )


def boundary_of(graph: Graph, key: str, known: set[str]) -> list[str]:
    """The nearest values of these names that a result depends on."""
    target = graph.value(key)
    sources = [value for node in graph.nodes for value in node.outputs if value.name in known]
    sources += [value for value in graph.inputs if value.name in known]
    reach = BackwardSlice(sources)
    reach.add([target])
    return [value.name for value in sources if value in reach.values]

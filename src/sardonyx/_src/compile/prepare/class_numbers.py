"""Classifiers with string labels are rewritten: they compute the indices of the classes, and a Gather looks up the labels.

Kernels compute numbers only, so the classifier becomes native, and only the Gather is a fallback operation.
"""

from __future__ import annotations

from sardonyx._src.ir import Attribute, Graph, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import graphs
from sardonyx._src.ops.bind import plain
from sardonyx._src.ops.ml.lookup import string_vector
from sardonyx._src.schema import newest

ML = "ai.onnx.ml"
STRINGS, INTEGERS = "classlabels_strings", "classlabels_int64s"
CLASSIFIERS = frozenset({"TreeEnsembleClassifier"})  # those with kernels, which compute integer labels


def number_classes(model: Model) -> None:
    """Rewrites the classifiers in the graphs of a model."""
    names: FreshNames | None = None
    for graph in graphs(model.graph):
        for node in list(graph.nodes):
            if has_string_labels(node):
                names = names or FreshNames.of_graphs([model.graph])
                model.opset_imports.setdefault("", newest(""))
                look_up_labels(graph, node, names)


def has_string_labels(node: Node) -> bool:
    """Whether a node is a valid classifier with string labels."""
    if node.domain != ML or node.op_type not in CLASSIFIERS or len(node.outputs) < 2:
        return False
    strings, integers = (node.attributes.get(name) for name in (STRINGS, INTEGERS))
    return strings is not None and bool(strings.value) and (integers is None or not integers.value)


def look_up_labels(graph: Graph, node: Node, names: FreshNames) -> None:
    """Replaces a classifier by one with the indices of the classes as labels, and a Gather of the string labels."""
    labels = plain(node.attributes[STRINGS].value)
    assert isinstance(labels, tuple), f"{node!r} has no labels"
    attributes = {name: value for name, value in node.attributes.items() if name != STRINGS}
    attributes[INTEGERS] = Attribute(INTEGERS, AttributeType.INTS, tuple(range(len(labels))))
    numbers = Value(names.fresh("class numbers"))
    classifier = Node(
        node.op_type, node.inputs, [numbers, Value("")], attributes, domain=node.domain, name=node.name
    )
    constant = Value(names.fresh("class labels"), initializer=Tensor.of(string_vector(labels)))
    assert constant.initializer is not None
    constant.type = TensorType(constant.initializer.dtype, (len(labels),))
    lookup = Node("Gather", [graph.add_initializer(constant), numbers], [Value("")])
    graph.insert_before(node, classifier)
    graph.insert_before(node, lookup)
    lookup.take_output(0, node.outputs[0])
    classifier.take_output(1, node.outputs[1])
    graph.remove(node)

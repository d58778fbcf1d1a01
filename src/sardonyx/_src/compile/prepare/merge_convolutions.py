"""Merges convolutions of few channels that read the same image into one convolution, followed by a Split of its channels.

The heads of a detector read a feature map by several convolutions of one to ten channels each.  Unmerged, each reads
the image again, and leaves most lanes of its vectors unused.  If depthwise convolutions are the only readers of the
parts, they are merged as well.  Each sum keeps its terms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Graph, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ir.build import attribute
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import graphs

LANES = 16  # float32 lanes of the widest vectors; a convolution of fewer channels is narrow
FIRST_SPLIT_WITH_SIZES = 13  # the version of ai.onnx whose Split has the sizes as an input


@dataclass(frozen=True, slots=True)
class ConstantConvolution:
    """A Conv of float32 with constant weights [M, C / group, ...] and bias [M]."""

    node: Node
    image: Value
    weights: Array
    bias: Array

    @property
    def channels(self) -> int:
        return len(self.weights)

    @property
    def group(self) -> int:
        value = self.node.attributes["group"].value if "group" in self.node.attributes else 1
        return value if isinstance(value, int) else 0

    @property
    def window(self) -> tuple[object, ...]:
        """The key of convolutions that can be merged: all attributes but the groups, and the dims of a filter."""
        others = sorted((name, str(a.value)) for name, a in self.node.attributes.items() if name != "group")
        return (*others, self.weights.shape[1:])


def merge_convolutions(model: Model) -> None:
    """Merges the narrow convolutions of each image in the graphs of a model."""
    if model.opset_imports.get("", 0) < FIRST_SPLIT_WITH_SIZES:
        return
    names: FreshNames | None = None
    for graph in graphs(model.graph):
        for siblings in list(narrow_siblings(graph)):
            names = names or FreshNames.of_graphs([model.graph])
            split = replace_by_split(siblings, 1, names)
            while readers := depthwise_readers(split):
                unused, group = split, sum(conv.channels for conv in readers)
                split = replace_by_split(readers, group, names, unused.inputs[0])
                graph.remove(unused)


def narrow_siblings(graph: Graph) -> Iterator[Sequence[ConstantConvolution]]:
    """Groups of narrow convolutions with the same image and windows that need fewer vectors if merged."""
    siblings: dict[object, list[ConstantConvolution]] = defaultdict(list)
    for node in graph.nodes:
        conv = constant_convolution(node) if is_narrow(node) else None
        if conv is not None and conv.group == 1:
            siblings[conv.image, conv.window].append(conv)
    for convs in siblings.values():
        if -(-sum(conv.channels for conv in convs) // LANES) < len(convs):
            yield convs


def is_narrow(node: Node) -> bool:
    """Whether a node is a Conv of few channels, whose weights are constant."""
    weights = node.inputs[1] if node.op_type == "Conv" and not node.domain and len(node.inputs) > 1 else None
    tensor = None if weights is None else weights.initializer
    return isinstance(tensor, Tensor) and len(tensor.shape) > 0 and tensor.shape[0] < LANES


def depthwise_readers(split: Node) -> Sequence[ConstantConvolution]:
    """The depthwise convolutions with equal windows that are the only readers of the outputs of a Split; otherwise empty."""
    readers = []
    for part in split.outputs:
        uses = part.uses
        conv = constant_convolution(uses[0][0]) if len(uses) == 1 and not part.is_graph_output else None
        if conv is None or conv.image is not part or conv.group != conv.channels:
            return ()
        readers.append(conv)
    is_depthwise = all(conv.weights.shape[1] == 1 for conv in readers)
    is_local = all(conv.node.graph is split.graph for conv in readers)
    return readers if is_depthwise and is_local and len({conv.window for conv in readers}) == 1 else ()


def constant_convolution(node: Node) -> ConstantConvolution | None:
    """The Conv of a node, with zeros for an omitted bias; None for any other node."""
    if node.op_type != "Conv" or node.domain or len(node.inputs) < 2 or node.inputs[0] is None:
        return None
    weights = constant_floats(node.inputs[1])
    if weights is None or weights.ndim < 3:
        return None
    has_bias = len(node.inputs) > 2 and node.inputs[2] is not None
    bias = constant_floats(node.inputs[2]) if has_bias else np.zeros(len(weights), np.float32)
    if bias is None or bias.shape != weights.shape[:1]:
        return None
    return ConstantConvolution(node, node.inputs[0], weights, bias)


def constant_floats(value: Value | None) -> Array | None:
    """The elements of a float32 initializer; None for any other value."""
    if value is None or not isinstance(value.initializer, Tensor):
        return None
    return value.initializer.numpy() if value.initializer.dtype is DataType.FLOAT else None


def replace_by_split(
    convs: Sequence[ConstantConvolution], group: int, names: FreshNames, image: Value | None = None
) -> Node:
    """Replaces convolutions by a merged one of `image`, by default their own image, and a Split; returns the Split."""
    first = convs[0].node
    graph = first.graph
    assert graph is not None, f"{first!r} must be in a graph"
    weights = np.concatenate([conv.weights for conv in convs])
    bias = np.concatenate([conv.bias for conv in convs])
    sizes = np.array([conv.channels for conv in convs], np.int64)
    merged = Value(names.fresh("merged channels"))
    operands = [add_constant(graph, array, names) for array in (weights, bias)]
    attributes = {**first.attributes, "group": attribute("group", group)}
    conv = Node("Conv", [image or convs[0].image, *operands], [merged], attributes, name=first.name)
    parts = [Value("") for _ in convs]
    operand = add_constant(graph, sizes, names)
    split = Node("Split", [merged, operand], parts, {"axis": attribute("axis", 1)})
    graph.insert_before(first, conv)
    graph.insert_before(first, split)
    for i, part in enumerate(convs):
        split.take_output(i, part.node.outputs[0])
        graph.remove(part.node)
    return split


def add_constant(graph: Graph, array: Array, names: FreshNames) -> Value:
    tensor = Tensor.of(array)
    value = Value(names.fresh("merged constant"), TensorType(tensor.dtype, tensor.shape), tensor)
    return graph.add_initializer(value)

"""Which initializers of an inference model are weights, and which are constants that an exporter wrote as initializers.

PyTorch's exporter through torch.export records which tensors were parameters of the module.  Other files do not.  There the
operator decides that combines the tensor with variable data, after operators that only rearrange the tensor or combine it
with constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from sardonyx._src.ir import Array, Graph, Model, Node, Tensor, Value
from sardonyx._src.ir.walk import graphs, nodes, roots
from sardonyx._src.ops.registry import find
from sardonyx._src.train.prepare.weight_positions import (
    FACTORS,
    JOINS,
    SUMS,
    TRANSPARENT,
    feeds_only_waves,
    is_part_of_group_norm,
    is_quantization_parameter,
    is_running_statistic,
    is_weight_input,
)

KIND = "pkg.torch.export.graph_signature.InputSpec.kind"
FOLDED = "pkg.onnxscript.optimizer.folded_from"
GENERATED_NAME = re.compile(r"val_\d+")  # names that the exporter gives to constants of its own
MASK_LIMIT = -1e4  # a mask adds smaller numbers than this to the scores that it hides; weights are larger
Use = tuple[Node, int]


class ParameterFinder:
    """Recognizes the weights of a model."""

    def __init__(self, model: Model) -> None:
        self.functions = model.functions
        self.constants = {v for root in roots(model) for v in constants_of(root)}

    def is_parameter(self, value: Value) -> bool:
        """Whether a dense floating-point initializer is a weight."""
        tensor = value.initializer
        assert isinstance(tensor, Tensor), f"{value!r} has no tensor"
        kind = declared_kind(value)
        if any(is_running_statistic(node, slot) for node, slot in value.uses) or not tensor.size:
            return False
        elements = tensor.numpy().astype(np.float64)
        if kind is not None or not np.isfinite(elements).all():
            return kind == "PARAMETER"
        return any(self.is_weight(use, elements) for use in self.destinations(value))

    def is_weight(self, use: Use, elements: Array) -> bool:
        """Whether a tensor that a node combines with variable data is a weight; use: the node and the input."""
        node, slot = use
        if elements.ndim == 0 or feeds_only_waves(node) or is_part_of_group_norm(node, slot):
            return False
        if is_weight_input(node, slot):
            return True
        if node.domain or node.op_type not in (*SUMS, *FACTORS, *JOINS) or elements.size == 1:
            return False
        return not (is_mask(elements, node) or (node.op_type in JOINS and not elements.any()))

    def destinations(self, value: Value) -> Iterator[Use]:
        """The uses at which a value, or what is computed only from it and from constants, is combined with other tensors."""
        pending, seen = [value], {value}
        while pending:
            for node, slot in pending.pop().uses:
                following = self.following(node, slot, seen)
                if following is None:
                    yield node, slot
                else:
                    pending += [v for v in following if v not in seen]
                    seen.update(following)

    def following(self, node: Node, slot: int, sources: set[Value]) -> Sequence[Value] | None:
        """The values through which an input of a node passes on; None if the node combines it with other tensors."""
        if is_quantization_parameter(node, slot):
            return None
        function = self.functions.get((node.domain, node.op_type, node.overload))
        if function is not None:
            return function.body.inputs[slot : slot + 1]
        op = find(node.domain, node.op_type)
        if op is not None and op.body_inputs is not None:
            return [body.inputs[slot] for body in node.subgraphs if slot < len(body.inputs)]
        moves = not node.domain and node.op_type in TRANSPARENT and slot == 0
        if moves or all(v is None or v in sources or v in self.constants for v in node.inputs):
            return node.outputs
        return None


def declared_kind(value: Value) -> str | None:
    """The kind of tensor that an initializer was in the module, as the file states it; None if the file does not.

    PARAMETER, BUFFER or CONSTANT_TENSOR.
    """
    kind = value.metadata.get(KIND) if value.has_metadata else None
    folded = value.metadata.get(FOLDED) if value.has_metadata else None
    if kind is None and folded is not None:
        names = re.findall(r"'([^']*)'", folded)
        if names and all(GENERATED_NAME.fullmatch(name) for name in names):
            return "CONSTANT_TENSOR"
    return kind


def constants_of(root: Graph) -> set[Value]:
    """The initializers of a graph and its subgraphs, and the values that are computed only from them."""
    result = {value for graph in graphs(root) for value in graph.initializers.values()}
    for node in nodes(root):
        inputs = [value for value in node.inputs if value is not None]
        if node.op_type == "Constant" or (inputs and not node.subgraphs and result.issuperset(inputs)):
            result.update(node.outputs)
    return result


def is_mask(elements: Array, node: Node) -> bool:
    """Whether a tensor is a mask: a matrix of zeros and ones, or a summand with very negative elements."""
    if node.op_type in SUMS and bool((elements < MASK_LIMIT).any()):
        return True
    return elements.ndim > 1 and set(np.unique(elements).tolist()) == {0.0, 1.0}

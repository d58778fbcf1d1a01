"""Which initializers of an inference model are weights, and which are constants that an exporter wrote as initializers.

PyTorch's exporter through torch.export says which were parameters of the module.  Other files do not; in them the operator that a tensor meets
decides, after operators that only rearrange it or combine it with constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ir.walk import graphs, nodes, roots
from sardonyx._src.ops.registry import find
from sardonyx._src.train.prepare.weight_positions import (
    FACTORS,
    JOINS,
    SUMS,
    TRANSPARENT,
    feeds_only_waves,
    is_part_of_group_norm,
    is_running_statistic,
    is_weight_input,
)

KIND = "pkg.torch.export.graph_signature.InputSpec.kind"
FOLDED = "pkg.onnxscript.optimizer.folded_from"
GENERATED_NAME = re.compile(r"val_\d+")  # those of constants of the exporter itself
MASK_LIMIT = -1e4  # what is added to hide an element is below this, and weights are not
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
        """Whether elements that meet others in an input of a node are those of a weight."""
        node, slot = use
        if elements.ndim == 0 or feeds_only_waves(node) or is_part_of_group_norm(node, slot):
            return False
        if is_weight_input(node, slot):
            return True
        if node.domain or node.op_type not in (*SUMS, *FACTORS, *JOINS) or elements.size == 1:
            return False
        return not (is_mask(elements, node) or (node.op_type in JOINS and not elements.any()))

    def destinations(self, value: Value) -> Iterator[Use]:
        """The inputs in which what is computed from a value and constants alone meets other tensors."""
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
        """The values that hold what a node receives; None if other tensors are combined with it."""
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
    """What a file says that an initializer was in the module: PARAMETER, BUFFER, CONSTANT_TENSOR; None if it does not."""
    kind = value.metadata.get(KIND) if value.has_metadata else None
    folded = value.metadata.get(FOLDED) if value.has_metadata else None
    if kind is None and folded is not None:
        names = re.findall(r"'([^']*)'", folded)
        if names and all(GENERATED_NAME.fullmatch(name) for name in names):
            return "CONSTANT_TENSOR"
    return kind


def constants_of(root: Graph) -> set[Value]:
    """The initializers of a graph and of those inside it, and what is computed from them alone."""
    result = {value for graph in graphs(root) for value in graph.initializers.values()}
    for node in nodes(root):
        inputs = [value for value in node.inputs if value is not None]
        if node.op_type == "Constant" or (inputs and not node.subgraphs and result.issuperset(inputs)):
            result.update(node.outputs)
    return result


def is_mask(elements: Array, node: Node) -> bool:
    """Whether elements hide others: zeros and ones of a matrix, or large negative terms."""
    if node.op_type in SUMS and bool((elements < MASK_LIMIT).any()):
        return True
    return elements.ndim > 1 and set(np.unique(elements).tolist()) == {0.0, 1.0}

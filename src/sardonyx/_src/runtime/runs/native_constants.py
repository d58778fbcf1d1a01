"""Constants that depend on rounding, computed by kernels when a model is compiled.

NumPy's products, exponentials, powers and the like have other bits on processors with other instructions.  So nodes of which
IEEE 754 does not define every bit are folded by small programs of their own, which have the bits of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from sardonyx._src.ir import Array, Graph, Model, Node, Tensor, TensorType
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.registry import find
from sardonyx._src.ops.traits import is_rounded
from sardonyx._src.rewrite.support.evaluate import Evaluate, evaluate_node, has_fixed_bits, one_node_model
from sardonyx._src.runtime.limits.run_limits import Bailout

RunModel: TypeAlias = Callable[[Model, Mapping[str, Array]], Mapping[str, RuntimeValue]]


def native_evaluation(run: RunModel) -> Evaluate:
    """A function that evaluates nodes on constants with equal bits on all processors.

    run: compiles a model, without folding such nodes in it, and runs it on feeds; may raise Bailout.
    """

    def evaluate(
        node: Node, imports: Mapping[str, int], tensors: Sequence[Tensor | None], /
    ) -> Sequence[RuntimeValue] | None:
        if has_fixed_bits(node, tensors):
            return evaluate_node(node, imports, tensors)
        model = one_node_model(node, imports, tensors)
        try:
            outputs = run(model, feed_floats(model.graph))
        except Bailout:  # the reference kernel rejects the node, or computes what no kernel can
            return evaluate_node(node, imports, tensors)
        return [outputs[value.name] for value in model.graph.outputs]

    return evaluate


def feed_floats(graph: Graph) -> dict[str, Array]:
    """Makes the floats that the only node of a graph reads inputs, except its parameters; returns their elements."""
    (node,) = graph.nodes
    op = find(node.domain, node.op_type)
    parameters = {node.inputs[i] for i in (op.parameters if op else ()) if i < len(node.inputs)}
    feeds = {}
    for value in [*graph.initializers.values()]:
        tensor = value.initializer
        if isinstance(tensor, Tensor) and is_rounded(tensor.dtype) and value not in parameters:
            feeds[value.name] = np.require(tensor.numpy(), requirements=["C", "A"])
            graph.remove_initializer(value)
            value.initializer, value.type = None, TensorType(tensor.dtype, tensor.shape)
            graph.add_input(value)
    return feeds

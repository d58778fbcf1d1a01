"""Decomposition: operators without kernels of their own as nodes of operators that have kernels.

A decomposition is a module of `decompositions`, with a function `decompose(node, edit)`: it replaces the node, or returns
False where types or sizes do not allow that, and the node stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from sardonyx._src.ir.graph import Node
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.walk import nodes
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.schema import latest

PACKAGE = "sardonyx._src.compile.prepare.decompositions"
DECOMPOSITIONS = {  # the module of each operator
    "AffineGrid": "function_body",
    "BatchNormalization": "batch_normalization",
    "BlackmanWindow": "function_body",
    "CausalConvWithState": "function_body",
    "CenterCropPad": "function_body",
    "Compress": "compress",
    "Conv": "conv_3d",
    "DequantizeLinear": "blocked_dequantization",
    "Einsum": "einsum",
    "EyeLike": "eye_like",
    "GridSample": "grid_sample",
    "HammingWindow": "function_body",
    "HannWindow": "function_body",
    "Hardmax": "rows",
    "Loop": "hoisted_products",
    "LpNormalization": "rows",
    "MaxPool": "dequantized_max_pool",
    "NegativeLogLikelihoodLoss": "function_body",
    "QLinearMatMul": "qlinear_matmul",
    "Scan": "hoisted_products",
    "Shrink": "function_body",
    "SoftmaxCrossEntropyLoss": "function_body",
    "SwiGLU": "function_body",
    "Transpose": "transposed_constant",
}
Decomposition = Callable[[Node, Edit], bool]


def decompose_nodes(model: Model) -> bool:
    """Decomposes the nodes of the main graph and its subgraphs, in place; returns whether any was."""
    if model.opset_imports.get("") != latest(""):
        return False  # the nodes of decompositions are those of the newest operator set
    selected = [node for node in nodes(model.graph) if not node.domain and node.op_type in DECOMPOSITIONS]
    if not selected:
        return False
    edit = Edit(model)
    return sum(decomposition_of(node)(node, edit) for node in selected) > 0


def decomposition_of(node: Node) -> Decomposition:
    decompose: Decomposition = import_module(f"{PACKAGE}.{DECOMPOSITIONS[node.op_type]}").decompose
    return decompose

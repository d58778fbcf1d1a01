"""Decomposition: replaces operators without kernels by nodes of operators that have kernels.

Each decomposition is a module of `decompositions` with a function `decompose(node, edit)`.  It replaces the node and
returns True, or returns False and leaves the node, where types or sizes do not allow it.  `LIMITS` says why, if that is not
obvious.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from importlib import import_module
from types import ModuleType

from sardonyx._src.compile.prepare.required_sizes import depend_on
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.facet_calls import call_infer_facet
from sardonyx._src.infer.scope import InferenceScope
from sardonyx._src.ir import Model, Node, TensorType, Type
from sardonyx._src.ir.dims import Expr, known_equal
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.inference import DimPair
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.evaluate import evaluate_fixed_bits
from sardonyx._src.schema import newest

PACKAGE = "sardonyx._src.compile.prepare.decompositions"
DECOMPOSITIONS = {  # the module of each operator of ai.onnx
    "AffineGrid": "affine_grid",
    "Attention": "function_body",
    "BatchNormalization": "batch_normalization",
    "Bernoulli": "draws",
    "BlackmanWindow": "function_body",
    "CausalConvWithState": "function_body",
    "CenterCropPad": "function_body",
    "Col2Im": "col2im",
    "Compress": "compress",
    "Concat": "dequantized_movement",
    "Conv": "conv_3d",
    "ConvInteger": "conv_integer",
    "ConvTranspose": "conv_transpose_3d",
    "DFT": "dft",
    "DepthToSpace": "dequantized_movement",
    "DequantizeLinear": "blocked_quantization",
    "Dropout": "draws",
    "Einsum": "einsum",
    "EyeLike": "eye_like",
    "Flatten": "dequantized_movement",
    "Gather": "dequantized_gather",
    "GlobalAveragePool": "global_pool",
    "GlobalMaxPool": "global_pool",
    "GridSample": "grid_sample",
    "GroupedMatMul": "grouped_matmul",
    "HammingWindow": "function_body",
    "HannWindow": "function_body",
    "Hardmax": "rows",
    "LinearAttention": "function_body",
    "Loop": "hoisted_products",
    "LpNormalization": "rows",
    "LpPool": "lp_pool",
    "MatMul": "vector_product",
    "MaxPool": "max_pool",
    "NegativeLogLikelihoodLoss": "function_body",
    "QLinearConv": "qlinear_conv",
    "QLinearMatMul": "qlinear_matmul",
    "QuantizeLinear": "blocked_quantization",
    "RandomNormalLike": "draws",
    "RandomUniformLike": "draws",
    "Reshape": "dequantized_movement",
    "Resize": "resize",
    "STFT": "dft",
    "Scan": "hoisted_products",
    "Shrink": "function_body",
    "Slice": "dequantized_movement",
    "SoftmaxCrossEntropyLoss": "function_body",
    "SpaceToDepth": "dequantized_movement",
    "Squeeze": "dequantized_movement",
    "SwiGLU": "function_body",
    "Transpose": "transposed_constant",
    "Unsqueeze": "dequantized_movement",
}
MODULES = {  # by domain
    "": DECOMPOSITIONS,
    "ai.onnx.preview": {"FlexAttention": "function_body"},
    "ai.onnx.preview.training": {"Adagrad": "optimizers", "Adam": "optimizers", "Momentum": "optimizers"},
}
Decomposition = Callable[[Node, Edit], bool]


def decompose_nodes(model: Model, names: Set[str]) -> bool:
    """Decomposes the nodes of the main graph and its subgraphs, in place; returns whether any was.

    names: the symbols of the sizes of inputs.
    """
    selected = [node for node in nodes(model.graph) if node.op_type in MODULES.get(node.domain, ())]
    if not selected or model.opset_imports.setdefault("", newest("")) != newest(""):
        return False  # decompositions make nodes of the newest operator set
    edit = Edit(model, evaluate=evaluate_fixed_bits)
    can_replace = (node for node in selected if may_lose_checks(node, edit, names))
    return sum(decomposition_of(node)(node, edit) for node in can_replace) > 0


def may_lose_checks(node: Node, edit: Edit, names: Set[str]) -> bool:
    """Whether a node may lose its checks that sizes are equal, since the nodes of its decomposition may not make them.

    It may if the sizes are proved to be equal, or depend only on sizes of inputs with these names, which the
    program guards.
    """
    if any(node.subgraphs):
        return True  # a node with subgraphs stays; its decomposition only changes the subgraphs
    is_guarded = node.graph is edit.model.graph
    pairs = equal_dims(node, edit)
    return pairs is not None and all(
        known_equal(a, b) or (is_guarded and known_equal(a, b) is None and depend_on(names, a, b))
        for a, b in pairs
    )


def equal_dims(node: Node, edit: Edit) -> Sequence[DimPair] | None:
    """The pairs of sizes that a node requires to be equal, with a symbol for each open dim; None for an invalid node."""
    inference = edit.facts.inference
    types = [None if value is None else value.type for value in node.inputs]
    if not any(isinstance(type_, TensorType) and None in (type_.shape or ()) for type_ in types):
        return inference.equal_dims(node)
    scope = InferenceScope(inference.state, edit.imports_of(node))
    plan = scope.plan(node)
    if plan is None or plan.infer is None:
        return None
    context = scope.new_context(node, plan)
    context.inputs = [close_dims(type_, inference.state.new_symbol) for type_ in types]
    try:
        return call_infer_facet(context, plan).equal_dims
    except InferenceError:
        return None


def close_dims(type_: Type | None, new_symbol: Callable[[], Expr]) -> Type | None:
    """The type with a new symbol for each open dim."""
    if not isinstance(type_, TensorType) or type_.shape is None:
        return type_
    return TensorType(type_.dtype, tuple(new_symbol() if dim is None else dim for dim in type_.shape))


def decomposition_of(node: Node) -> Decomposition:
    decompose: Decomposition = module_of(node).decompose
    return decompose


def module_of(node: Node) -> ModuleType:
    return import_module(f"{PACKAGE}.{MODULES[node.domain][node.op_type]}")


def limits_of(node: Node) -> str | None:
    """Why a decomposition leaves some nodes of the operator, "" if it does not say; None for operators without one."""
    is_decomposed = node.op_type in MODULES.get(node.domain, ())
    return getattr(module_of(node), "LIMITS", "") if is_decomposed else None

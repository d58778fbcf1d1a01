"""Low-rank adapters (Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021): adding and merging them.

The product `x W` of a layer becomes `x W + alpha / rank (x A) B`.  A [in, rank] is drawn and B [rank, out] is zero at first,
so that the result does not change until the adapter is trained.  An adapter is a call of a model-local function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.arguments import require_integer, require_type
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.io.text import from_text
from sardonyx._src.ir import Array, Attribute, Function, Graph, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import location, nodes, roots
from sardonyx._src.train.losses.base import check_number
from sardonyx._src.train.prepare.inference_only import without_training
from sardonyx._src.train.prepare.prepare import MIN_OPSET, with_training_versions
from sardonyx._src.train.prepare.selection import Patterns, match_names, patterns_of

ADAPTER_DOMAIN, ADAPTER = "sardonyx.adapters", "LowRankAdapter"
ADAPTED = ("MatMul", "Gemm")
ADAPTER_WEIGHTS = "*_adapter_?"  # the pattern that the names of adapter matrices match
MIN_IR_VERSION = 8  # the first IR version with model-local functions
FUNCTION = """<ir_version: 8, opset_import: ["": %d, "sardonyx.adapters": 1]>
none () => () {}
<domain: "sardonyx.adapters", opset_import: ["": %d]>
LowRankAdapter <scale> (x, y, a, b) => (z) {
  p = MatMul(x, a)
  q = MatMul(p, b)
  factor = Constant <value_float: float = @scale> ()
  cast = CastLike(factor, q)
  r = Mul(q, cast)
  z = Add(y, r)
}"""

MAX_RANK = 1 << 20  # columns of A: more than any layer has


def add_adapters(
    model: Model, rank: int, *, alpha: float | None = None, targets: Patterns | None = None, seed: int = 0
) -> Model:
    """A copy of a model with adapters of its layers, which computes the same until the adapters are trained.

    rank: the number of columns of A.
    alpha: the factor of the scale `alpha / rank`; by default the rank.
    targets: names of weights, or patterns; by default the weights of all MatMul and Gemm nodes of the main graph.
    seed: seeds the draw of A.
    The new initializers have the names of the weights, followed by `_adapter_a` and `_adapter_b`;
    `prepare(model, trainable="*_adapter_?")` trains only them.

    Raises InputError for a pattern that matches no such weight, and for numbers out of range; TypeError.
    """
    require_type("model", model, Model, "a Model")
    require_integer("rank", rank, 1)
    require_integer("rank", rank, high=MAX_RANK)
    rank = int(rank)
    require_integer("seed", seed, 0, (1 << 32) - 1)
    if alpha is not None:
        check_number("alpha", alpha, 0, math.inf, open_low=True)
    result = with_training_versions(model)
    result.ir_version = max(result.ir_version, MIN_IR_VERSION)
    layers = {weight.name: (node, weight) for node in result.graph.nodes if (weight := weight_of(node))}
    chosen = (
        set(layers) if targets is None else match_names(patterns_of(targets, "targets"), layers, "targets")
    )
    if not chosen:
        raise InputError("targets must name weights of MatMul or Gemm nodes; there are none", name="targets")
    names, draw = FreshNames.of_graphs(roots(result)), np.random.RandomState(seed)
    scale = float(rank if alpha is None else alpha) / rank
    for node in list(result.graph.nodes):
        weight = weight_of(node)
        if weight is not None and weight.name in chosen:
            adapt(result.graph, node, weight, rank, scale, names, draw)
    function = adapter_function(result.opset_imports.get("", MIN_OPSET))
    result.functions[function.key] = function
    result.opset_imports[ADAPTER_DOMAIN] = 1
    return result


def weight_of(node: Node) -> Value | None:
    """The weight of a layer that can be adapted: a dense float initializer [in, out]; None for other nodes.

    A Gemm whose alpha is 0 has no weight: no change of it would change the result.
    """
    if node.op_type not in ADAPTED or node.domain or len(node.inputs) < 2 or flag(node, "transA"):
        return None
    if number(node, "alpha", 1.0) == 0.0:
        return None
    weight = node.inputs[1]
    tensor = None if weight is None else weight.initializer
    if not isinstance(tensor, Tensor) or len(tensor.shape) != 2 or not tensor.dtype.is_float:
        return None
    return weight


def flag(node: Node, name: str) -> bool:
    attribute = node.attributes.get(name)
    return attribute is not None and bool(attribute.value)


def adapt(
    graph: Graph,
    node: Node,
    weight: Value,
    rank: int,
    scale: float,
    names: FreshNames,
    draw: np.random.RandomState,
) -> None:
    """Adds an adapter after a layer; the readers of the layer then read the result of the adapter."""
    tensor = weight.initializer
    assert isinstance(tensor, Tensor), f"{weight!r} has no tensor"
    rows, columns = tensor.shape[::-1] if flag(node, "transB") else tensor.shape
    down = draw.standard_normal((rows, rank)) / math.sqrt(max(rows, 1))
    a = initializer(graph, names.fresh(f"{weight.name}_adapter_a"), down, tensor.dtype)
    b = initializer(graph, names.fresh(f"{weight.name}_adapter_b"), np.zeros((rank, columns)), tensor.dtype)
    old = node.outputs[0]
    new = Value(old.name, old.type)
    old.replace_by(new)
    old.name = names.fresh(f"{old.name}_base")
    attributes = {"scale": Attribute("scale", AttributeType.FLOAT, scale)}
    call = Node(ADAPTER, [node.inputs[0], old, a, b], [new], attributes, domain=ADAPTER_DOMAIN)
    graph.insert_after(node, call)


def initializer(graph: Graph, name: str, values: Array, dtype: DataType) -> Value:
    tensor = Tensor.of(values, dtype, name)
    return graph.add_initializer(Value(name, TensorType(tensor.dtype, tensor.shape), tensor))


def adapter_function(opset: int) -> Function:
    (function,) = from_text(FUNCTION % (opset, opset)).functions.values()
    return function


def merge_adapters(model: Model) -> Model:
    """A copy of a model whose adapters are added to the weights: `W + alpha / rank A B`; their function is removed.

    Training information is left out, since it names the adapters.  Raises InputError for a model without adapters, and for a
    call of the function that `add_adapters` did not make.
    """
    result = without_training(model)
    calls = [node for root in roots(result) for node in nodes(root) if is_adapter(node)]
    if not calls:
        raise InputError(
            "the model must have adapters, as sx.train.add_adapters adds them; it has none: it can be used as it is",
            name="model",
        )
    for call in calls:
        if call.graph is not result.graph:
            raise InputError(
                f"adapters must be in the main graph, where sx.train.add_adapters puts them; {location(call)} is in a function or "
                "a branch: run the model with it, or move its layer to the main graph",
                name="model",
            )
    names = FreshNames.of_graphs(roots(result))
    for call in calls:
        merge(result.graph, call, names)
    result.functions.pop((ADAPTER_DOMAIN, ADAPTER, ""), None)
    result.opset_imports.pop(ADAPTER_DOMAIN, None)
    return result


def is_adapter(node: Node) -> bool:
    return node.op_type == ADAPTER and node.domain == ADAPTER_DOMAIN


def merge(graph: Graph, call: Node, names: FreshNames) -> None:
    """Replaces a layer and its adapter by the layer with the merged weight."""
    _, base, a, b = [*call.inputs, None, None, None, None][:4]
    layer = None if base is None else base.producer
    weight = None if layer is None else weight_of(layer)
    if layer is None or weight is None or base is None or len(base.uses) != 1:
        raise InputError("an adapter must read the result of a layer that nothing else reads", name="model")
    low_rank = [v.initializer for v in (a, b) if v is not None and isinstance(v.initializer, Tensor)]
    tensor = weight.initializer
    assert isinstance(tensor, Tensor), f"{weight!r} has no tensor"
    if a is None or b is None or len(low_rank) != 2:
        raise InputError("the matrices of an adapter must be initializers", name="model")
    merged = merged_weight(layer, tensor, low_rank, number(call, "scale", 1.0))
    name = weight.name
    slots = [slot for slot, value in enumerate(layer.inputs) if value is weight]
    if len(weight.uses) > len(slots):
        name = names.fresh(name)  # other nodes still read the original weight
    else:
        graph.remove_initializer(weight)
    new = initializer(graph, name, merged, tensor.dtype)
    layer.set_input(1, new)
    layer.take_output(base.index, call.outputs[0])
    graph.remove(call)
    for value in (a, b):
        if not value.uses:
            graph.remove_initializer(value)


def merged_weight(layer: Node, tensor: Tensor, low_rank: Sequence[Tensor], scale: float) -> Array:
    """The weight plus the product of the adapter's matrices, computed in float64."""
    down, up = (matrix.numpy().astype(np.float64) for matrix in low_rank)
    product = down @ up * (scale / number(layer, "alpha", 1.0))
    return np.asarray(tensor.numpy().astype(np.float64) + (product.T if flag(layer, "transB") else product))


def number(node: Node, name: str, default: float) -> float:
    """A float attribute of a node."""
    attribute = node.attributes.get(name)
    value = None if attribute is None else attribute.value
    return float(value) if isinstance(value, int | float) else default

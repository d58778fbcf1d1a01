"""Attention fusion: MatMul, scale, mask, Softmax, MatMul become one attention step without a score matrix in memory.

The pattern is matched at its first MatMul, whose nodes are then marked as lowered; the step is emitted at its last
MatMul, because nodes between the two may compute the mask and the values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sardonyx._src.compile.kernels.attention.attention import attention_steps
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.attention import allocate_output, attention_mask
from sardonyx._src.compile.partition.fusion import scalar_constant
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Node, Value

Shape = tuple[Known, ...]


@dataclass(slots=True)
class AttentionPattern:
    """softmax(queries [..., S, D] @ keys [..., D, T] * scale + mask) @ values [..., T, E].

    nodes: the matched nodes in order, from the first MatMul to the last.
    """

    queries: Value
    keys: Value
    nodes: list[Node]
    scale: float = 1.0
    mask: Value | None = None
    values: Value | None = None

    @property
    def last(self) -> Value:
        """The output of the last matched node."""
        return self.nodes[-1].outputs[0]


def match_attention(op: BoundNode, lowering: Lowering) -> bool:
    """Matches attention at its first MatMul, and marks all nodes before the last MatMul as lowered."""
    queries, keys = op.input(0), op.input(1)
    if queries is None or keys is None or not is_score_product(lowering, queries, keys, op.output):
        return False
    pattern = AttentionPattern(queries, keys, [op.node])
    if not match_consumers(lowering, pattern):
        return False
    *inner, last = pattern.nodes
    lowering.lowered.update(inner)
    pending_patterns(lowering)[last] = pattern
    return True


def pending_patterns(lowering: Lowering) -> dict[Node, AttentionPattern]:
    """The matched patterns that are not emitted yet, by their last MatMul."""
    patterns: dict[Node, AttentionPattern] = lowering.memoize("attention between products", dict)
    return patterns


def is_score_product(lowering: Lowering, queries: Value, keys: Value, scores_value: Value) -> bool:
    """Whether queries @ keys is a float32 product with equal batch dims, of rank 4, or of rank 3 without heads."""
    if not all(lowering.dtype_of(value) is DataType.FLOAT for value in (queries, keys, scores_value)):
        return False
    shapes = [lowering.shape(value) for value in (queries, keys, scores_value)]
    if not (lowering.is_native(queries) and lowering.is_native(keys)) or lowering.is_constant(keys):
        return False
    q, k, s = (() if shape is None else shape for shape in shapes)
    if not len(q) == len(k) == len(s) or len(q) not in (3, 4):
        return False
    return (
        q[:-2] == k[:-2] == s[:-2]
        and q[-2] == s[-2]
        and k[-1] == s[-1]
        and lowering.guard_equal(q[-1], k[-2])
    )


def match_consumers(lowering: Lowering, pattern: AttentionPattern) -> bool:
    """Extends a pattern by the consumers of its scores up to the last MatMul; returns whether all of them match."""
    for absorb in (absorb_scale, absorb_scale, absorb_mask):
        absorb(lowering, pattern)
    softmax, shape = lowering.sole_consumer(pattern.last), lowering.known_shape(pattern.last)
    bound = None if softmax is None else lowering.bind_node(softmax)
    if softmax is None or bound is None or (bound.op_type, bound.version) != ("Softmax", 13):
        return False
    if softmax.domain or bound.attribute("axis", int) not in (-1, len(shape) - 1):
        return False
    pattern.nodes.append(softmax)
    product = lowering.sole_consumer(pattern.last)
    bound = None if product is None else lowering.bind_node(product)
    if product is None or bound is None or (bound.op_type, bound.version) != ("MatMul", 13) or product.domain:
        return False
    pattern.values = product.inputs[1]
    if product.inputs[0] is not pattern.last or pattern.values is pattern.last:
        return False
    pattern.nodes.append(product)
    return match_values(lowering, shape, pattern.values, product.outputs[0])


def match_values(lowering: Lowering, score_shape: Shape, values: Value | None, output: Value) -> bool:
    """Whether values [..., T, E] match the scores [..., S, T], with equal batch dims."""
    shape, output_shape = lowering.shape(values), lowering.shape(output)
    if shape is None or output_shape is None or lowering.dtype_of(values) is not DataType.FLOAT:
        return False
    if (
        len(shape) != len(score_shape)
        or shape[:-2] != score_shape[:-2]
        or output_shape != (*score_shape[:-1], shape[-1])
    ):
        return False
    return lowering.guard_equal(shape[-2], score_shape[-1])


def absorb_scale(lowering: Lowering, pattern: AttentionPattern) -> None:
    """Absorbs a Mul or Div by a positive constant into the scale."""
    node = lowering.sole_consumer(pattern.last)
    if (
        node is None
        or node.op_type not in ("Mul", "Div")
        or node.domain
        or not preserves_shape(lowering, node, pattern)
    ):
        return
    is_left = node.inputs[0] is pattern.last
    other = node.inputs[1 if is_left else 0]
    factor = scalar_constant(lowering.constant(other))
    if factor is None or not np.isfinite(factor) or factor <= 0 or (node.op_type == "Div" and not is_left):
        return
    scale = pattern.scale * (factor if node.op_type == "Mul" else 1 / factor)
    if not np.finfo(np.float32).tiny <= scale <= np.finfo(np.float32).max:
        return
    pattern.scale = scale
    pattern.nodes.append(node)


def absorb_mask(lowering: Lowering, pattern: AttentionPattern) -> None:
    """Absorbs an Add of a mask that has an element for every key."""
    node = lowering.sole_consumer(pattern.last)
    if node is None or node.op_type != "Add" or node.domain or not preserves_shape(lowering, node, pattern):
        return
    mask = node.inputs[1] if node.inputs[0] is pattern.last else node.inputs[0]
    shape, score_shape = lowering.shape(mask), lowering.known_shape(pattern.last)
    if mask is None or mask is pattern.last or not shape or lowering.dtype_of(mask) is not DataType.FLOAT:
        return
    if len(shape) > len(score_shape) or shape[-1] == 1:
        return
    aligned = score_shape[len(score_shape) - len(shape) :]
    if not lowering.guard_equal(shape[-1], score_shape[-1]) or not all(
        map(lowering.guard_broadcast, shape[:-1], aligned[:-1])
    ):
        return
    pattern.mask = mask
    pattern.nodes.append(node)


def preserves_shape(lowering: Lowering, node: Node, pattern: AttentionPattern) -> bool:
    return lowering.bind_node(node) is not None and lowering.shape(node.outputs[0]) == lowering.shape(
        pattern.last
    )


# --- the step ----------------------------------------------------------------------------------


def emit_matched_attention(op: BoundNode, lowering: Lowering) -> bool:
    """Emits the attention step if the node is the last MatMul of a matched pattern."""
    pattern = pending_patterns(lowering).pop(op.node, None)
    if pattern is None:
        return False
    assert pattern.values is not None, "attention has values"
    lowering.node_names = tuple(node.name or node.outputs[0].name for node in pattern.nodes)
    q = as_rank_4(find_unit_stride(lowering, pattern.queries, -1) or lowering.dense(pattern.queries))
    k = as_rank_4(find_unit_stride(lowering, pattern.keys, -2) or lowering.any_layout(pattern.keys)).permute(
        (0, 1, 3, 2)
    )
    v = as_rank_4(find_unit_stride(lowering, pattern.values, -1) or lowering.any_layout(pattern.values))
    mask = None
    if pattern.mask is not None:
        mask_view = attention_mask(lowering, pattern.mask, (*q.shape[:3], k.shape[2]))
        assert mask_view is not None, "a mask of all keys broadcasts"
        mask = mask_view.tensor
    has_heads = len(lowering.known_shape(op.output)) == 4
    y = allocate_output(op, lowering, q, v) if has_heads else as_rank_4(lowering.allocate_result(op.output))
    lowering.emit(*attention_steps(q, k, v, y, scale=pattern.scale, mask=mask))
    return True


def find_unit_stride(lowering: Lowering, value: Value, dim: int) -> TensorView | None:
    """A layout of the value with unit stride along a dim; None if there is none."""
    lowering.any_layout(value)
    return next((layout for layout in lowering.tensors[value] if layout.strides[dim] == 1), None)


def as_rank_4(tensor: TensorView) -> TensorView:
    """A tensor [B, H, S, D]; one of rank 3 gets a batch dim of 1."""
    if tensor.rank == 4:
        return tensor
    return replace(tensor, shape=(1, *tensor.shape), strides=(0, *tensor.strides))

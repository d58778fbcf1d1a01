"""Attention: MatMul, scale, mask, Softmax, MatMul become one attention step without a score matrix in memory.

In half-precision models the scores and weights are not rounded in between: the kernel keeps them in float32 registers.
The region is executed where its last MatMul was, because nodes between the two may compute the mask and the values.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.element_types import HALF_TYPES
from sardonyx._src.compile.partition import BoundNode, Read, Region, Scope, Shape, fuses
from sardonyx._src.compile.partition.fusion.scope_queries import ScopeQueries
from sardonyx._src.compile.partition.operands.attention_operands import match_mask, read_mask, write_heads
from sardonyx._src.compile.program import ANY, DENSE
from sardonyx._src.compile.program.operands.layout import UnitStride
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.dims import Known
from sardonyx._src.rewrite.support.attention import ATTENTION_OPERATORS, AttentionMatch, find_attention


@dataclass(frozen=True, slots=True)
class SoftmaxAttention:
    """The parameters of a region that reads queries, keys [..., D, T], values and, if there is one, the mask.

    mask_keys: the number of keys that the mask covers.
    """

    scale: float
    mask_keys: Known | None


@fuses("MatMul", 13)
def match_softmax_attention(op: BoundNode, scope: Scope) -> Region[SoftmaxAttention] | None:
    """Matches attention at its first MatMul; the region takes the place of its last MatMul."""
    attention = find_attention_from(op.node, scope)
    if attention is None or not is_native_attention(scope, attention):
        return None
    scores = scope.known_shape(op.output)
    mask, mask_keys = attention.mask, None
    if mask is not None:
        covers_scores = mask_covers_scores(scope, mask, scores)
        mask_keys = match_mask(scope, mask, (1, *scores) if len(scores) == 3 else scores)
        if mask_keys is None or not covers_scores:
            return None
    reads = (
        Read(attention.queries, UnitStride(-1, DENSE)),
        Read(attention.keys, UnitStride(-2, ANY)),
        Read(attention.values, UnitStride(-1, ANY)),
        *(() if mask is None else (read_mask(mask),)),
    )
    last = attention.nodes[-1]
    config, write = SoftmaxAttention(attention.scale, mask_keys), write_heads(scope, last.outputs[0])
    return Region("SoftmaxAttention", attention.nodes, config, reads, (write,), last=last)


def find_attention_from(first: Node, scope: Scope) -> AttentionMatch | None:
    """Attention that starts with a MatMul; its scores and weights are float32, or all rounded to half precision."""
    node = scope.sole_consumer(first.outputs[0])
    while node is not None and node.op_type in ATTENTION_OPERATORS:
        node = scope.sole_consumer(node.outputs[0])
    if node is None or node.op_type != "MatMul":
        return None
    for is_rounded in (False, True):
        for attention in find_attention(node, ScopeQueries(scope), is_rounded=is_rounded):
            if attention.nodes[0] is first:
                return attention
    return None


def is_native_attention(scope: Scope, attention: AttentionMatch) -> bool:
    """Whether the kernel supports the types and dims: float32, equal batch dims, rank 4, or rank 3 without heads."""
    queries, keys, values = attention.queries, attention.keys, attention.values
    *inner, result = (node.outputs[0] for node in attention.nodes)
    if not all(scope.dtype_of(value) is DataType.FLOAT for value in (queries, keys, values, inner[0])):
        return False
    if any(scope.dtype_of(value) not in (DataType.FLOAT, *HALF_TYPES) for value in inner):
        return False
    if not (scope.is_native(queries) and scope.is_native(keys)) or scope.is_constant(keys):
        return False
    scores = scope.shape(inner[0])
    if scores is None or len(scores) not in (3, 4) or any(scope.shape(value) != scores for value in inner):
        return False
    return is_product(scope, queries, keys, scores) and is_product(
        scope, inner[-1], values, scope.shape(result)
    )


def is_product(scope: Scope, a: Value, b: Value, result: Shape | None) -> bool:
    """Whether dims [..., M, K] and [..., K, N] have the product [..., M, N], with equal batch dims."""
    left, right = scope.shape(a), scope.shape(b)
    if left is None or right is None or len(left) != len(right):
        return False
    if left[:-2] != right[:-2] or result != (*left[:-1], right[-1]):
        return False
    return scope.guard_equal(right[-2], left[-1])


def mask_covers_scores(scope: Scope, mask: Value, scores: Shape) -> bool:
    """Whether a mask broadcasts to the scores, and has an element for every key."""
    shape = scope.shape(mask)
    if not shape or scope.dtype_of(mask) is not DataType.FLOAT:
        return False
    if len(shape) > len(scores) or shape[-1] == 1:
        return False
    aligned = scores[len(scores) - len(shape) :]
    return scope.guard_equal(shape[-1], scores[-1]) and all(
        map(scope.guard_broadcast, shape[:-1], aligned[:-1])
    )

"""fold-constants: evaluate nodes whose inputs are all constant.

Before:  g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Neg(w)  y = Add(x, a) }
After:   g (float[2] x) => (float[2] y) <float[2] a = {-1, -2}> { y = Add(x, a) }
Keeps:   random operators; quantized weights, and large ones in half precision that a Cast promotes for products; results that
         would enlarge the file much; nodes that raise an error;
         large Expands that only elementwise operators read, which broadcast faster than they would read the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType, nbytes
from sardonyx._src.ir import Node, Tensor, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit

STRING_BYTES = 16  # estimated size of a string
MAX_REPEATED_BYTES = 1 << 24  # bytes of the folded result of an Expand that only elementwise operators read
MIN_HALF_BYTES = (
    1 << 17
)  # bytes of a half-precision factor of products that is not promoted: memory limits products of few rows
HALF_TYPES = frozenset({DataType.FLOAT16, DataType.BFLOAT16})
DEQUANTIZE = "DequantizeLinear"  # is not folded: quantized weights are small on purpose, and engines match this operator


@rewrite(phase="simplify")
def fold_constants(node: Node, edit: Edit) -> bool:
    for value in node.inputs:
        if value is not None and value.producer is not None and value.producer.op_type != "Constant":
            return False
    operator = edit.operator_of(node) if node.inputs else None
    if operator is None or node.op_type == DEQUANTIZE or operator.op.is_random or node.subgraphs:
        return False
    tensors = [edit.tensor(v) for v in node.inputs]
    if any(v is not None and t is None for v, t in zip(node.inputs, tensors, strict=True)):
        return False
    if is_promoted_factor(node, tensors):
        return False
    used_outputs = [v for v in node.outputs if v.name]
    growth = growth_of(node, used_outputs, tensors, edit)
    if growth is None or growth > edit.result_growth or edit.bytes_added + growth > edit.growth:
        return False
    if growth > MAX_REPEATED_BYTES and is_broadcast_by_readers(node, edit):
        return False
    results = edit.evaluate(node, edit.imports_of(node), tensors)
    if results is None or not all(isinstance(r, np.ndarray) for r in results):
        return False
    folded = [Tensor.of(result) for result in results if isinstance(result, np.ndarray)]
    changed = edit.replace_with_constants(node, dict(zip(used_outputs, folded, strict=True)))
    edit.bytes_added += growth if changed else 0
    return changed


def is_promoted_factor(node: Node, tensors: Sequence[Tensor | None]) -> bool:
    """Whether a node casts large weights in half precision that only products read, as their right factor."""
    weights = tensors[0] if node.op_type == "Cast" and not node.domain else None
    if weights is None or weights.dtype not in HALF_TYPES or weights.nbytes < MIN_HALF_BYTES:
        return False
    uses = node.outputs[0].uses
    return bool(uses) and all(slot == 1 and is_product(reader) for reader, slot in uses)


def is_product(node: Node) -> bool:
    return node.op_type in ("MatMul", "Gemm") and not node.domain


def is_broadcast_by_readers(node: Node, edit: Edit) -> bool:
    """Whether a node is an Expand whose readers broadcast: elementwise operators that are not constant themselves."""
    if node.op_type != "Expand" or node.domain:
        return False
    (expanded,) = node.outputs
    return all(is_elementwise_reader(reader, expanded, edit) for reader, _ in expanded.uses)


def is_elementwise_reader(reader: Node, value: Value, edit: Edit) -> bool:
    operator = edit.operator_of(reader)
    is_constant = all(v is value or v is None or edit.tensor(v) is not None for v in reader.inputs)
    return operator is not None and operator.op.elementwise and not is_constant


def growth_of(
    node: Node, outputs: Sequence[Value], tensors: Sequence[Tensor | None], edit: Edit
) -> int | None:
    """The bytes of the results minus those of the constants that become unused; None if the result types are unknown."""
    total = 0
    for value in outputs:
        type = edit.type(value)
        if type is None or type.shape is None:
            return None
        sizes = [d for d in type.shape if isinstance(d, int)]
        if len(sizes) != len(type.shape):
            return None
        total += bytes_of(type.dtype, math.prod(sizes))
    freed = {v: t for v, t in zip(node.inputs, tensors, strict=True) if v is not None and edit.has_one_use(v)}
    return total - sum(t.nbytes for t in freed.values() if t is not None)


def bytes_of(dtype: DataType, count: int) -> int:
    return count * STRING_BYTES if dtype is DataType.STRING else nbytes(dtype, count)

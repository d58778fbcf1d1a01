"""Terms whose weights stay floats, in a second product of few terms, since they cause most of the error.

Dettmers et al., "LLM.int8(): 8-bit Matrix Multiplication for Transformers at Scale", 2022, decompose products so.  Here a
term counts by its own error, which grows with the range of its block and with the squares of what multiplies it, and by the
error of the other terms of the block, whose range its weights stretch.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from sardonyx._src.ir import Array, Node
from sardonyx._src.quantize.weights.algorithm import split_blocks
from sardonyx._src.quantize.weights.layers import WeightLayer, product_kind
from sardonyx._src.quantize.weights.operands import OperandStatistics
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.view import View

SAMPLED_COLUMNS = 256  # of a weight, by which terms are chosen


def outlier_terms(weight: Array, share: float, block: int, statistics: OperandStatistics | None) -> Array:
    """The indices of this share of the terms, rounded up, in their order: int64.

    weight: [terms, columns] of any floats.
    """
    terms, columns = weight.shape
    part = np.ascontiguousarray(weight[:, :: -(-columns // SAMPLED_COLUMNS)], np.float32)
    squares = np.ones(terms) if statistics is None else statistics.squares
    weights = split_blocks(np.square(part), block)
    importance = split_blocks(squares[:, None], block)
    own = importance * weights.max(axis=1, keepdims=True)
    others = importance.sum(axis=1, keepdims=True) * weights
    scores = (own + others).sum(axis=2).reshape(-1)[:terms]
    return np.sort(np.argsort(-scores, kind="stable")[: int(np.ceil(share * terms))])


def can_split(view: View, layer: WeightLayer) -> bool:
    """Whether all readers are MatMul nodes of one graph's floats."""
    kinds = {product_kind(view, node) for node in layer.readers}
    return layer.kind == "product" and kinds == {"matmul"}


def split_outliers(edit: Edit, layer: WeightLayer, terms: Array) -> WeightLayer:
    """Adds the products of some terms to those of all terms; returns the layer of the latter, whose weight has zeros there."""
    first, name = layer.readers[0], layer.weight.name
    kept = np.ascontiguousarray(layer.matrix()[terms])
    indices = edit.make_constant(terms.astype(np.int64), f"{name}_outlier_terms", before=first)
    floats = edit.make_constant(kept, f"{name}_outliers", before=first)
    readers: list[Node] = []
    for reader in layer.readers:
        operand = reader.inputs[0]
        readers.append(edit.make("MatMul", [operand, layer.weight], before=reader))
        few = edit.make("Gather", [operand, indices], {"axis": -1}, before=reader)
        product = edit.make("MatMul", [few.outputs[0], floats], before=reader)
        is_replaced = edit.replace(reader, "Add", [readers[-1].outputs[0], product.outputs[0]])
        assert is_replaced, "the sum has the type of the product"
    return dataclasses.replace(layer, readers=tuple(readers))

"""Attention heads in the text of function bodies: splitting, merging, grouped products, softmax.

Sizes may be known only at run time.  The name of each intermediate value begins with the name of the tensor, so that
a body can contain the same text for several tensors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.support.body_text import promoted_type, vector


def split_heads_text(name: str, counts: Sequence[int]) -> str:
    """The nodes of `{name}_heads`: the tensor `name`, [batch, length, heads * size], as [batch, length, *counts, size].

    The product of `counts` is the number of heads.  The vectors `{name}_tokens`, which holds batch and length, and
    `{name}_size`, which holds size, can be used by the nodes after it.
    """
    return f"""
      {name}_tokens = Shape <end = 2> ({name})
      {name}_row = Shape <start = 2> ({name})
      {name}_count = {vector([math.prod(counts)])}
      {name}_size = Div({name}_row, {name}_count)
      {name}_counts = {vector(counts)}
      {name}_shape = Concat <axis = 0> ({name}_tokens, {name}_counts, {name}_size)
      {name}_heads = Reshape <allowzero = 1> ({name}, {name}_shape)"""


def merge_heads_text(name: str, result: str) -> str:
    """The nodes of `result`: `name`, [batch, heads, length, size], as [batch, length, heads * size]."""
    return f"""
      {name}_turned = Transpose <perm = [0, 2, 1, 3]> ({name})
      {name}_tokens = Shape <end = 2> ({name}_turned)
      {name}_inner = Shape <start = 2> ({name}_turned)
      {name}_row = ReduceProd({name}_inner)
      {name}_packed = Concat <axis = 0> ({name}_tokens, {name}_row)
      {result} = Reshape <allowzero = 1> ({name}_turned, {name}_packed)"""


def matmul_text(left: str, right: str, result: str, *, is_grouped: bool) -> str:
    """The nodes of `result`: the matrix product of [batch, heads, n, m] and [batch, heads, m, k].

    With `is_grouped`, several adjacent heads of the left operand can share one head of the right operand.
    """
    if not is_grouped:
        return f"""
      {result} = MatMul({left}, {right})"""
    return f"""
      {result}_batch = Shape <end = 1> ({left})
      {result}_many = Shape <start = 1, end = 2> ({left})
      {result}_few = Shape <start = 1, end = 2> ({right})
      {result}_group = Div({result}_many, {result}_few)
      {result}_rows = Shape <start = 2, end = 3> ({left})
      {result}_size = Shape <start = 3> ({left})
      {result}_tall = Mul({result}_group, {result}_rows)
      {result}_by_group = Concat <axis = 0> ({result}_batch, {result}_few, {result}_tall, {result}_size)
      {result}_left = Reshape <allowzero = 1> ({left}, {result}_by_group)
      {result}_groups = MatMul({result}_left, {right})
      {result}_columns = Shape <start = 3> ({right})
      {result}_by_head = Concat <axis = 0> ({result}_batch, {result}_many, {result}_rows, {result}_columns)
      {result} = Reshape <allowzero = 1> ({result}_groups, {result}_by_head)"""


def softmax_text(scores: str, result: str, dtype: DataType) -> str:
    """The nodes of `result`: Softmax along the last axis of the scores.

    The scores are rounded to `dtype`, and so is the result; between the two, half precision is computed as float.
    """
    return f"""
      {result}_scores = Cast <to = {int(dtype)}> ({scores})
      {result}_wide = Cast <to = {int(promoted_type(dtype))}> ({result}_scores)
      {result}_shares = Softmax <axis = -1> ({result}_wide)
      {result} = Cast <to = {int(dtype)}> ({result}_shares)"""

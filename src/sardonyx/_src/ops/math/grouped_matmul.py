"""GroupedMatMul: each row times the matrices that its group indices select.

Spec: ai.onnx GroupedMatMul-29, under development.  It gives indices outside [0, G), and so negative ones, no meaning;
here they are errors.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.shapes import first_element_type, merge_dims

op = Operator("GroupedMatMul", tolerance="rounding", computes_in_float32=True)


@op.infer(29)
def infer(inference: Inference) -> Result:
    """[M, K], [G, K, N], [M, S] and [G, N] give [M, S, N]."""
    (m, k), (groups, inner, n), (tokens, s), (own_groups, own_n) = (
        dims_of(inference, i, rank) for i, rank in enumerate((2, 3, 2, 2))
    )
    merge_dims(inference, (k, inner), "the reduced dimensions")
    m = merge_dims(inference, (m, tokens), "the numbers of tokens")
    groups = merge_dims(inference, (groups, own_groups), "the numbers of groups")
    n = merge_dims(inference, (n, own_n), "the columns of the weights and the bias")
    indices = inference.constant(2)
    if isinstance(groups, int) and indices is not None and ((indices < 0) | (indices >= groups)).any():
        inference.fail(f"group_indices must be in [0, {groups})")
    dtype = first_element_type(*(inference.type(i) for i in (0, 1, 3)))
    return None if dtype is None else TensorType(dtype, (m, s, n))


def dims_of(inference: Inference, i: int, rank: int) -> tuple[Dim, ...]:
    """The dims of an input that must have this rank; open ones if they are not known, or the input is omitted."""
    shape = inference.shape(i) if inference.has(i) else None
    if shape is not None and len(shape) != rank:
        inference.fail(f"input {i} must have rank {rank}; got rank {len(shape)}")
    return (None,) * rank if shape is None else shape


@op.eval(29)
def evaluate(
    input: Array, weights: Array, group_indices: Array, bias: Array | None = None, *, context: RunContext
) -> Array:
    """input: [M, K], weights: [G, K, N], group_indices: [M, S] in [0, G), bias: [G, N]; result: [M, S, N].

    The product is rounded to the element type before the bias is added, as in the function that defines the operator.
    """
    check_shapes(input, weights, group_indices, bias)
    invalid = (group_indices < 0) | (group_indices >= len(weights))
    if invalid.any():
        got = group_indices[invalid].flat[0]
        raise EvaluationError(f"group_indices must be in [0, {len(weights)}); got {got}")
    shape = (*group_indices.shape, weights.shape[2])
    check_result_bytes(context, shape, input.dtype, "GroupedMatMul result")
    result = np.empty(shape, input.dtype)
    for group in np.unique(group_indices):
        tokens, selections = np.nonzero(group_indices == group)
        result[tokens, selections] = multiply(input[tokens], weights[group])
    return result if bias is None else result + bias[group_indices]


@compute_in_float32
def multiply(rows: Array, matrix: Array) -> Array:
    return rows @ matrix


def check_shapes(input: Array, weights: Array, group_indices: Array, bias: Array | None) -> None:
    """Raises EvaluationError for operands whose shapes do not fit together."""
    operands = (input, weights, group_indices, *(() if bias is None else (bias,)))
    ranks = [operand.ndim for operand in operands]
    if ranks != [2, 3, 2, 2][: len(ranks)]:
        raise EvaluationError(
            f"input, weights, group_indices and bias must have ranks 2, 3, 2 and 2; got {ranks}"
        )
    if input.shape[1] != weights.shape[1] or len(input) != len(group_indices):
        shapes = [list(operand.shape) for operand in operands[:3]]
        raise EvaluationError(
            f"input, weights and group_indices must have shapes [M, K], [G, K, N] and [M, S]; got {shapes}"
        )
    if bias is not None and bias.shape != (len(weights), weights.shape[2]):
        expected = [len(weights), weights.shape[2]]
        raise EvaluationError(f"bias must have shape {expected}; got {list(bias.shape)}")


@op.body(29, opset=13)
def body(inference: Inference) -> str:
    """Gather a matrix for each index, then MatMul.

    Unlike the function of the specification, the body computes no shapes during a run.
    """
    has_bias = inference.has(3)
    sum_ = "own = Gather <axis = 0> (bias, indices)  y = Add(product, own)"
    return f"""({", ".join(["x", "weights", "indices", *["bias"] * has_bias])}) => (y) {{
      axes = Constant <value = int64[2] {{1, 2}}> ()
      rows = Unsqueeze(x, axes)
      matrices = Gather <axis = 0> (weights, indices)
      products = MatMul(rows, matrices)
      axis = Constant <value = int64[1] {{2}}> ()
      product = Squeeze(products, axis)
      {sum_ if has_bias else "y = Identity(product)"}
    }}"""

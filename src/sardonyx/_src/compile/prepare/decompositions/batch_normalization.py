"""BatchNormalization in training mode as reductions over batch and space, and elementwise operators.

The nodes of the statistics equal the nodes that gradients compute them with, so that both share their results.
"""

from __future__ import annotations

from sardonyx._src.compile.prepare.decompositions.text import inline_text
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.edit import Edit

NORMALIZATION = """(x, scale, bias, old_mean, old_variance) => (y, new_mean, new_variance) {{
  axes = Constant <value = int64[{num_axes}] {{{axes}}}> ()
  column = Constant <value = int64[{num_columns}] {{{column}}}> ()  all = Constant <value = int64[1] {{-1}}> ()
  epsilon = Constant <value = float {{{epsilon!r}}}> ()
  kept = Constant <value = float {{{momentum!r}}}> ()  added = Constant <value = float {{{share!r}}}> ()
  mean = ReduceMean(x, axes)  centered = Sub(x, mean)  squares = Mul(centered, centered)
  variance = ReduceMean(squares, axes)  moved = Add(variance, epsilon)  deviation = Sqrt(moved)
  factor = Reciprocal(deviation)  normal = Mul(centered, factor)
  wide_scale = Reshape(scale, column)  wide_bias = Reshape(bias, column)
  scaled = Mul(normal, wide_scale)  y = Add(scaled, wide_bias)
  flat_mean = Reshape(mean, all)  flat_variance = Reshape(variance, all)
  kept_mean = Mul(old_mean, kept)  added_mean = Mul(flat_mean, added)  new_mean = Add(kept_mean, added_mean)
  kept_variance = Mul(old_variance, kept)  added_variance = Mul(flat_variance, added)
  new_variance = Add(kept_variance, added_variance) }}"""


def decompose(node: Node, edit: Edit) -> bool:
    if edit.operator_of(node) is None or not edit.attributes(node).get("training_mode"):
        return False
    types = [edit.type(value) for value in node.inputs]
    if any(type is None or type.dtype is not DataType.FLOAT or type.shape is None for type in types):
        return False
    rank = len(types[0].shape or ()) if types[0] is not None else 0
    if rank < 2:
        return False
    momentum, epsilon = (float(str(edit.attributes(node)[name])) for name in ("momentum", "epsilon"))
    axes, column = [0, *range(2, rank)], [-1, *[1] * (rank - 2)]
    text = NORMALIZATION.format(
        num_axes=len(axes),
        axes=", ".join(map(str, axes)),
        num_columns=len(column),
        column=", ".join(map(str, column)),
        epsilon=epsilon,
        momentum=momentum,
        share=1 - momentum,
    )
    inline_text(node, edit, text)
    return True

"""Max, Min: the greatest and the least of the inputs' elements; NaN where one of them is NaN.

Spec: ai.onnx Max-1, -6, -8, -12, -13 and Min of the same versions.  1 and 6 require inputs of one shape; 8 broadcasts
them.  12 adds integers, 13 bfloat16.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import dim_max, dim_min
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math.comparison_steps import decompose_integer_extremes
from sardonyx._src.ops.math.elementwise import require_same_shapes, round_to_input_type, same_shapes
from sardonyx._src.ops.math.legacy_broadcast_steps import broadcast_all_inputs
from sardonyx._src.ops.math.symbolic import Rule, arithmetic
from sardonyx._src.ops.support.shapes import infer_broadcast
from sardonyx._src.ops.traits import LegacyBroadcast
from sardonyx._src.ops.version_adapter import keep


def define(op: Operator, ufunc: Callable[[Array, Array], Array], rule: Rule) -> None:
    """Gives `op` the facets of all versions; `ufunc` is for two arrays, `rule` for all elements that inference knows."""

    @round_to_input_type
    def eval_8(*data_0: Array) -> Array:
        return reduce(ufunc, data_0)

    def eval_1(*data_0: Array) -> Array:
        require_same_shapes(data_0)
        return eval_8(*data_0)

    op.convert((6, 8))(keep)
    op.convert((8, 6))(broadcast_all_inputs)
    op.convert((12, 8))(decompose_integer_extremes)
    op.infer(1, 6)(same_shapes)
    op.infer(8, 12, 13)(infer_broadcast())
    op.value(1, 6, 8, 12, 13)(arithmetic(rule))
    op.eval(1, ignores=("consumed_inputs",))(eval_1)
    op.eval(6)(eval_1)
    op.eval(8, 12, 13)(eval_8)


MAX = "the greatest of the inputs' elements at each index; NaN where one of them is NaN."
MIN = "the least of the inputs' elements at each index; NaN where one of them is NaN."
define(
    Operator(
        "Max",
        elementwise=True,
        commutative=True,
        about=MAX,
        exact_in_half=True,
        legacy_broadcast=LegacyBroadcast("none", last_opset=7),
    ),
    np.maximum,
    dim_max,
)
define(
    Operator(
        "Min",
        elementwise=True,
        commutative=True,
        about=MIN,
        exact_in_half=True,
        legacy_broadcast=LegacyBroadcast("none", last_opset=7),
    ),
    np.minimum,
    dim_min,
)

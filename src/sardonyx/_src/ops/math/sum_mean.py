"""Sum, Mean: the sum of the inputs, and their sum divided by their number.

Spec: ai.onnx Sum-1, -6, -8, -13 and Mean of the same versions.  1 and 6 require inputs of one shape; 8 broadcasts them;
13 adds bfloat16.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import dim_add
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math.elementwise import require_same_shapes, round_to_input_type, same_shapes
from sardonyx._src.ops.math.legacy_broadcast_steps import broadcast_all_inputs
from sardonyx._src.ops.math.symbolic import arithmetic
from sardonyx._src.ops.support.shapes import infer_broadcast
from sardonyx._src.ops.traits import LegacyBroadcast
from sardonyx._src.ops.version_adapter import keep

sum_ = Operator(
    "Sum",
    tolerance="rounding",
    elementwise=True,
    commutative=True,
    about="the inputs added up, element by element.",
    legacy_broadcast=LegacyBroadcast("none", last_opset=7),
)
mean = Operator(
    "Mean",
    tolerance="rounding",
    elementwise=True,
    commutative=True,
    about="the inputs added up, element by element, and divided by their number.",
    legacy_broadcast=LegacyBroadcast("none", last_opset=7),
)
sum_.value(1, 6, 8, 13)(arithmetic(dim_add))

for op in (sum_, mean):
    op.infer(1, 6)(same_shapes)
    op.infer(8, 13)(infer_broadcast())
    op.convert((6, 8))(keep)
    op.convert((8, 6))(broadcast_all_inputs)


@sum_.eval(8, 13)
@round_to_input_type
def sum_8(*data_0: Array) -> Array:
    return reduce(np.add, data_0)


@mean.eval(8, 13)
@round_to_input_type
def mean_8(*data_0: Array) -> Array:
    return reduce(np.add, data_0) / len(data_0)


@sum_.eval(6)
@sum_.eval(1, ignores=("consumed_inputs",))
def sum_1(*data_0: Array) -> Array:
    require_same_shapes(data_0)
    return sum_8(*data_0)


@mean.eval(6)
@mean.eval(1, ignores=("consumed_inputs",))
def mean_1(*data_0: Array) -> Array:
    require_same_shapes(data_0)
    return mean_8(*data_0)

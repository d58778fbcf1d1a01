"""Bernoulli: 1 with the probability that the input gives, otherwise 0.

Spec: ai.onnx Bernoulli-15, -22, which differ in element types.  `dtype` is by default the type of the input.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.random.drawing import float_types, infer_result, sample_type
from sardonyx._src.ops.support.body_text import element_type, promoted_type

op = Operator("Bernoulli", tolerance="random")
BERNOULLI_TYPES = (
    *float_types(22),
    *(DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64),
    *(DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.UINT64),
    DataType.BOOL,
)


@op.infer(15, 22)
def infer(inference: Inference) -> Result:
    return infer_result(inference, inference.tensor(0), BERNOULLI_TYPES)


@op.eval(15, 22)
def evaluate(
    input: Array, *, dtype: int | None = None, seed: float | None = None, context: RunContext
) -> Array:
    """input: float in [0, 1], of any shape; result: the same shape.

    Numbers are drawn as in the official cases, whose inputs are as many uniform numbers of the same state, drawn before.
    """
    chances = input.astype(np.float64)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise EvaluationError("probabilities must be in [0, 1]; got others")
    state = context.random_state(seed)
    state.random_sample(chances.shape)
    return np.asarray(state.binomial(1, chances)).astype(
        sample_type(dtype, DataType.of(input.dtype), BERNOULLI_TYPES).numpy
    )


@op.body(15, 22, opset=13)
def body(inference: Inference) -> str:
    """The body draws samples in a wide type: they are below 1, but in a narrow float might be rounded up to 1, and the
    probability 1 must always give 1."""
    drawn = int(promoted_type(element_type(inference)))
    seed = f", seed = {inference.number('seed')!r}" if "seed" in inference.attributes else ""
    return f"""(x) => (y) {{
      chance = Cast <to = {drawn}> (x)
      number = RandomUniformLike <dtype = {drawn}{seed}> (chance)
      is_hit = Less(number, chance)
      y = Cast <to = {inference.attributes.get("dtype", int(element_type(inference)))}> (is_hit)
    }}"""

"""Bernoulli: 1 with the probability that the input gives, else 0.

Spec: ai.onnx Bernoulli-15, -22, which differ in element types.  `dtype` is by default the type of the input.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.body_text import element_type, real, wide_float
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.random.drawing import drawn_type, floats, told

op = Operator("Bernoulli", tolerance="random")
ALLOWED = (
    *floats(22),
    *(DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64),
    *(DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.UINT64),
    DataType.BOOL,
)


@op.infer(15, 22)
def infer(t: Inference) -> Result:
    return told(t, t.tensor(0), ALLOWED)


@op.eval(15, 22)
def evaluate(input: Array, *, dtype: int | None = None, seed: float | None = None, call: Call) -> Array:
    """input: float in [0, 1], of any shape, which is that of the result, too."""
    chances = input.astype(np.float64)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise EvaluationError("the input has a probability outside of 0 to 1")
    drawn = call.generator(seed).random(input.shape) < chances
    return np.asarray(drawn).astype(drawn_type(dtype, DataType.of(input.dtype), ALLOWED).numpy)


@op.body(15, 22, opset=13)
def body(t: Inference) -> str:
    """What is drawn is below 1, so that a probability of 1 always gives 1; in a narrow float it could be rounded to 1."""
    drawn = int(wide_float(element_type(t)))
    seed = f", seed = {real(t, 'seed')!r}" if "seed" in t.attributes else ""
    return f"""(x) => (y) {{
      chance = Cast <to = {drawn}> (x)
      number = RandomUniformLike <dtype = {drawn}{seed}> (chance)
      is_hit = Less(number, chance)
      y = Cast <to = {t.attributes.get("dtype", int(element_type(t)))}> (is_hit)
    }}"""

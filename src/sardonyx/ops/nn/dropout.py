"""Dropout: in training, elements set to zero at random and the others scaled up; in inference, the data as they are.

Spec: ai.onnx Dropout-1, -6, -7, -10, -12, -13, -22.  Versions 1 and 6 train unless `is_test` is set, 7 and 10 have
inference alone, from 12 on the input training_mode tells.  The mask has the type of the data up to 7, then bool.
13 adds bfloat16, 22 the 8-bit floats.
"""

from __future__ import annotations

import numpy as np

from sardonyx.dtypes import DataType
from sardonyx.errors import EvaluationError
from sardonyx.ir.tensors import Array
from sardonyx.ir.types import TensorType
from sardonyx.ops.api import Call, Operator
from sardonyx.ops.arithmetic import narrow, widen
from sardonyx.ops.inference import Inference, Result

op = Operator("Dropout", tolerance="random")


@op.infer(1, 6, 7, 10, 12, 13, 22)
def infer(t: Inference) -> Result:
    found = t.tensor(0)
    if found is None:
        mask = None if t.version < 10 else TensorType(DataType.BOOL)
        return [None, mask][: t.outputs]
    mask = TensorType(found.dtype if t.version < 10 else DataType.BOOL, found.shape)
    return [TensorType(found.dtype, found.shape), mask][: t.outputs]


@op.eval(12, 13, 22)
def eval_22(
    data: Array,
    ratio: Array | None = None,
    training_mode: Array | None = None,
    *,
    call: Call,
    seed: int | None = None,
) -> tuple[Array, Array]:
    """data, output: [...], ratio: scalar in [0, 1), 0.5 without it; mask: [...] bool, true where an element is kept."""
    if training_mode is None or not truth(training_mode):
        return data, np.ones(data.shape, np.bool_)
    share = 0.5 if ratio is None else scalar(ratio)
    output, mask = dropped(data, share, call.generator(None if seed is None else float(seed)))
    return output, mask


@op.eval(10)
def eval_10(data: Array, *, ratio: float) -> tuple[Array, Array]:
    """data, output: [...], mask: [...] bool, all true."""
    return data, np.ones(data.shape, np.bool_)


@op.eval(7)
def eval_7(data: Array, *, ratio: float) -> tuple[Array, Array]:
    """data, output: [...], mask: [...] of ones."""
    return data, np.ones(data.shape, data.dtype)


@op.eval(1, 6, ignores=("consumed_inputs",))
def eval_6(data: Array, *, call: Call, ratio: float, is_test: int) -> tuple[Array, Array]:
    """data, output, mask: [...]; the mask is 1 where an element is kept, and everywhere with `is_test`."""
    if is_test:
        return data, np.ones(data.shape, data.dtype)
    output, mask = dropped(data, ratio, call.generator(None))
    return output, mask.astype(data.dtype)


def dropped(data: Array, ratio: float, generator: np.random.Generator) -> tuple[Array, Array]:
    """data with a share `ratio` of elements times 0 and the others divided by 1 - ratio; the mask of the others."""
    if not 0 <= ratio < 1:
        raise EvaluationError(f"ratio is {ratio}, a number from 0 to below 1 is wanted")
    if ratio == 0:
        return data, np.ones(data.shape, np.bool_)
    mask = generator.random(data.shape) >= ratio
    wide = widen(data)
    return narrow(wide * (mask * wide.dtype.type(1 / (1 - ratio))), data.dtype), mask


def scalar(ratio: Array) -> float:
    if ratio.size != 1:
        raise EvaluationError(f"ratio has shape {list(ratio.shape)}, a scalar is wanted")
    return float(ratio.reshape(()))


def truth(training_mode: Array) -> bool:
    if training_mode.size != 1:
        raise EvaluationError(f"training_mode has shape {list(training_mode.shape)}, a scalar is wanted")
    return bool(training_mode.reshape(()))

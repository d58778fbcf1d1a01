"""Dropout: in training, elements set to zero at random and the others scaled up; in inference, the data as they are.

Spec: ai.onnx Dropout-1, -6, -7, -10, -12, -13, -22.  Versions 1 and 6 train unless `is_test` is set, 7 and 10 have
inference alone, from 12 on the input training_mode tells.  The mask has the type of the data up to 7, then bool.
13 adds bfloat16, 22 the 8-bit floats.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.arithmetic import narrow, widen
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import check_single
from sardonyx._src.ops.widening import cast

op = Operator("Dropout", tolerance="random")


@op.infer(1, 6, 7, 10, 12, 13, 22)
def infer(t: Inference) -> Result:
    found = t.tensor(0)
    check_single(t, 1, "ratio")
    check_single(t, 2, "training_mode")
    if found is None:
        mask = None if t.version < 10 else TensorType(DataType.BOOL)
        return [None, mask][: t.outputs]
    mask = TensorType(found.dtype if t.version < 10 else DataType.BOOL, found.shape)
    return [TensorType(found.dtype, found.shape), mask][: t.outputs]


# --- conversions -----------------------------------------------------------------------------


@op.convert((6, 7))
def to_7(c: Change) -> Converted:
    """Training, which the versions from 7 to 10 do not have, is random numbers that are compared with the ratio."""
    if c.t.integer("is_test"):
        return c.same(drop=("is_test",))
    ratio = c.as_input("ratio")
    assert ratio is not None, "ratio has a default"
    output, kept = trained(c, ratio, None)
    return [output, cast(c, kept, c.dtype(0))]


@op.convert((7, 6))
def to_6(c: Change) -> Converted:
    """Version 6 has no mask in inference; it is one everywhere."""
    if not c.wants(1):
        return c.same(is_test=1)
    found = cast(c, c.input(0), DataType.BOOL)
    return [c.Identity(c.input(0)), cast(c, c.Or(found, c.Not(found)), c.dtype(0))]


@op.convert((7, 10), (10, 7))
def other_mask(c: Change) -> Converted:
    if not c.wants(1):
        return c.same()
    output, mask = c.add("Dropout", c.node.inputs, c.node.attributes, 2)
    return [output, cast(c, mask, DataType.BOOL if c.t.version == 10 else c.dtype(0))]


@op.convert((10, 12))
def to_12(c: Change) -> Converted:
    return c.same([c.input(0), c.as_input("ratio")], drop=("ratio",))


@op.convert((12, 10))
def to_10(c: Change) -> Converted:
    """Training is said as in `to_7`; where a value tells of it, the ratio is 0 in inference."""
    training = c.t.constant(2)
    if training is not None and training.size != 1:
        c.refuse(f"training_mode has shape {list(training.shape)}, a scalar is wanted")
    if c.optional(2) is None or (training is not None and not truth(training)):
        return c.same([c.input(0)], drop=("seed",))
    given = c.optional(1)
    ratio = c.constant(0.5, DataType.FLOAT) if given is None else cast(c, given, DataType.FLOAT)
    ratio = c.Mul(ratio, cast(c, c.input(2), DataType.FLOAT))
    output, kept = trained(c, ratio, c.t.integer("seed") if c.has("seed") else None)
    return [output, kept]


def trained(c: Change, ratio: Value, seed: int | None) -> tuple[Value, Value]:
    """The output in training, and a mask of truth values; ratio: float, one element."""
    data, dtype = c.input(0), c.dtype(0)
    start = None if seed is None else float(np.float32(seed))
    kept = c.Not(c.Less(c.RandomUniformLike(data, dtype=int(DataType.FLOAT), seed=start), ratio))
    scale = c.Div(cast(c, kept, DataType.FLOAT), c.Sub(c.constant(1, DataType.FLOAT), ratio))
    if dtype is DataType.DOUBLE:
        return c.Mul(data, cast(c, scale, dtype)), kept
    return cast(c, c.Mul(cast(c, data, DataType.FLOAT), scale), dtype), kept


@op.convert((22, 13))
def to_13(c: Change) -> Converted:
    """8-bit floats go through float; a ratio of such a type does, too."""
    given, kinds = c.optional(1), (DataType.FLOAT, DataType.FLOAT16, DataType.DOUBLE)
    if given is not None and c.dtype(1) not in kinds:
        given = cast(c, given, DataType.FLOAT)
    inputs = [c.input(0), given, c.optional(2)]
    if c.dtype(0) in (*kinds, DataType.BFLOAT16):
        return c.same(inputs)
    kept = c.same([cast(c, c.input(0), DataType.FLOAT), *inputs[1:]])
    output, *mask = c.add("Dropout", kept.inputs, dict(kept.attributes), len(c.node.outputs))
    return [cast(c, output, c.dtype(0)), *mask]


# --- kernels ---------------------------------------------------------------------------------


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

"""Dropout: in training, random elements set to zero and the others scaled up; in inference, the identity.

Spec: ai.onnx Dropout-1, -6, -7, -10, -12, -13, -22.  Versions 1 and 6 train unless `is_test` is set, 7 and 10 support
only inference, from 12 on the input training_mode decides.  The mask has the type of the data up to 7, then bool.
13 adds bfloat16, 22 the 8-bit floats.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType, Value
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.support.promotion import cast
from sardonyx._src.ops.support.shapes import check_one_element
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("Dropout", tolerance="random", moves_data=True, parameters=(1, 2))


@op.infer(1, 6, 7, 10, 12, 13, 22)
def infer(inference: Inference) -> Result:
    data = inference.tensor(0)
    check_one_element(inference, 1, "ratio")
    check_one_element(inference, 2, "training_mode")
    ratio = inference.attributes.get("ratio")
    is_training = inference.version < 7 and not inference.integer("is_test")
    if is_training and isinstance(ratio, float) and not 0 <= ratio < 1:
        inference.fail(f"ratio must be in [0, 1); got {ratio}")
    if data is None:
        mask = None if inference.version < 10 else TensorType(DataType.BOOL)
        return [None, mask][: inference.outputs]
    mask = TensorType(data.dtype if inference.version < 10 else DataType.BOOL, data.shape)
    return [TensorType(data.dtype, data.shape), mask][: inference.outputs]


# --- conversions -----------------------------------------------------------------------------


@op.convert((6, 7))
def to_7(adapter: Adapter) -> AdaptedNode:
    """Express training, which versions 7 to 10 lack, by nodes that compare random numbers with the ratio."""
    if adapter.inference.integer("is_test"):
        return adapter.same(drop=("is_test",))
    ratio = adapter.as_input("ratio")
    assert ratio is not None, "ratio has a default"
    output, mask = add_training_nodes(adapter, ratio, None)
    return [output, cast(adapter, mask, adapter.dtype(0))]


@op.convert((7, 6))
def to_6(adapter: Adapter) -> AdaptedNode:
    """Version 6 has no mask in inference; compute one that is 1 everywhere."""
    if not adapter.has_output(1):
        return adapter.same(is_test=1)
    return [adapter.Identity(adapter.input(0)), cast(adapter, add_full_mask(adapter), adapter.dtype(0))]


def add_full_mask(adapter: Adapter) -> Value:
    """A bool mask of the data that is true everywhere."""
    data = cast(adapter, adapter.input(0), DataType.BOOL)
    return adapter.Or(data, adapter.Not(data))


@op.convert((7, 10), (10, 7))
def convert_mask_type(adapter: Adapter) -> AdaptedNode:
    if not adapter.has_output(1):
        return adapter.same()
    output, mask = adapter.add("Dropout", adapter.node.inputs, adapter.node.attributes, 2)
    return [
        output,
        cast(adapter, mask, DataType.BOOL if adapter.inference.version == 10 else adapter.dtype(0)),
    ]


@op.convert((10, 12))
def to_12(adapter: Adapter) -> AdaptedNode:
    return adapter.same([adapter.input(0), adapter.as_input("ratio")], drop=("ratio",))


@op.convert((12, 10))
def to_10(adapter: Adapter) -> AdaptedNode:
    """Express training as in `to_7`.

    Where training_mode is known only at run time, the ratio is multiplied by it: a ratio of 0 is inference.  The mask
    in inference is computed by other nodes, since the texts of versions 7 and 10 do not say what Dropout returns.
    """
    training = adapter.inference.constant(2)
    if training is not None and training.size != 1:
        adapter.refuse(f"training_mode must be a scalar; got shape {list(training.shape)}")
    if adapter.optional(2) is None or (training is not None and not read_flag(training)):
        if adapter.has_output(1):
            return [adapter.Identity(adapter.input(0)), add_full_mask(adapter)]
        return adapter.same([adapter.input(0)], drop=("seed",))
    ratio = adapter.optional(1)
    ratio = adapter.constant(0.5, DataType.FLOAT) if ratio is None else cast(adapter, ratio, DataType.FLOAT)
    ratio = adapter.Mul(ratio, cast(adapter, adapter.input(2), DataType.FLOAT))
    output, mask = add_training_nodes(
        adapter, ratio, adapter.inference.integer("seed") if adapter.has("seed") else None
    )
    return [output, mask]


def add_training_nodes(adapter: Adapter, ratio: Value, seed: int | None) -> tuple[Value, Value]:
    """The output in training, and the bool mask; ratio: float, one element."""
    data, dtype = adapter.input(0), adapter.dtype(0)
    start = None if seed is None else float(np.float32(seed))
    mask = adapter.Not(
        adapter.Less(adapter.RandomUniformLike(data, dtype=int(DataType.FLOAT), seed=start), ratio)
    )
    scale = adapter.Div(
        cast(adapter, mask, DataType.FLOAT), adapter.Sub(adapter.constant(1, DataType.FLOAT), ratio)
    )
    if dtype is DataType.DOUBLE:
        return adapter.Mul(data, cast(adapter, scale, dtype)), mask
    return cast(adapter, adapter.Mul(cast(adapter, data, DataType.FLOAT), scale), dtype), mask


@op.convert((22, 13))
def to_13(adapter: Adapter) -> AdaptedNode:
    """Cast 8-bit floats to float and back, and a ratio of an unsupported type to float."""
    ratio, supported = adapter.optional(1), (DataType.FLOAT, DataType.FLOAT16, DataType.DOUBLE)
    if ratio is not None and adapter.dtype(1) not in supported:
        ratio = cast(adapter, ratio, DataType.FLOAT)
    inputs = [adapter.input(0), ratio, adapter.optional(2)]
    if adapter.dtype(0) in (*supported, DataType.BFLOAT16):
        return adapter.same(inputs)
    replacement = adapter.same([cast(adapter, adapter.input(0), DataType.FLOAT), *inputs[1:]])
    output, *mask = adapter.add(
        "Dropout", replacement.inputs, dict(replacement.attributes), len(adapter.node.outputs)
    )
    return [cast(adapter, output, adapter.dtype(0)), *mask]


# --- kernels ---------------------------------------------------------------------------------


@op.eval(12, 13, 22)
def eval_22(
    data: Array,
    ratio: Array | None = None,
    training_mode: Array | None = None,
    *,
    context: RunContext,
    seed: int | None = None,
) -> tuple[Array, Array]:
    """data, output: [...]; ratio: scalar in [0, 1), 0.5 if omitted; mask: [...] bool, true where an element is kept."""
    if training_mode is None or not read_flag(training_mode):
        return data, np.ones(data.shape, np.bool_)
    share = 0.5 if ratio is None else read_ratio(ratio)
    output, mask = drop_elements(data, share, context.random_state(seed))
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
def eval_6(data: Array, *, context: RunContext, ratio: float, is_test: int) -> tuple[Array, Array]:
    """data, output, mask: [...]; the mask is 1 where an element is kept, and everywhere with `is_test`."""
    if is_test:
        return data, np.ones(data.shape, data.dtype)
    output, mask = drop_elements(data, ratio, context.random_state(None))
    return output, mask.astype(data.dtype)


def drop_elements(data: Array, ratio: float, state: np.random.RandomState) -> tuple[Array, Array]:
    """data with a share `ratio` of random elements zeroed and the rest divided by 1 - ratio; the mask of the rest."""
    if not 0 <= ratio < 1:
        raise EvaluationError(f"ratio must be in [0, 1); got {ratio}")
    if ratio == 0:
        return data, np.ones(data.shape, np.bool_)
    mask = state.random_sample(data.shape) >= ratio
    wide = promote_to_float32(data)
    return round_to_type(wide * (mask * wide.dtype.type(1 / (1 - ratio))), data.dtype), mask


def read_ratio(ratio: Array) -> float:
    if ratio.size != 1:
        raise EvaluationError(f"ratio must be a scalar; got shape {list(ratio.shape)}")
    return float(ratio.reshape(()))


def read_flag(training_mode: Array) -> bool:
    if training_mode.size != 1:
        raise EvaluationError(f"training_mode must be a scalar; got shape {list(training_mode.shape)}")
    return bool(training_mode.reshape(()))

"""ReverseSequence: reverses the first elements of each sequence of a batch.

Spec: ai.onnx ReverseSequence-10, -28, which differ in element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.shapes import merge_dims, same_tensor

op = Operator("ReverseSequence")


@op.infer(10, 28)
def infer(inference: Inference) -> Result:
    data, lengths, axis = inference.shape(0), inference.shape(1), inference.integer("batch_axis")
    if data is not None and len(data) < 2:
        inference.fail(f"the input must have rank >= 2, a batch of sequences; got rank {len(data)}")
    if {axis, inference.integer("time_axis")} != {0, 1}:
        inference.fail(
            f"batch_axis and time_axis must be 0 and 1 in either order; got {axis} and {inference.integer('time_axis')}"
        )
    if lengths is not None and len(lengths) != 1:
        inference.fail(f"sequence_lens must be a vector; got rank {len(lengths)}")
    if data is not None and lengths is not None:
        merge_dims(inference, [data[axis], lengths[0]], "the batch and sequence_lens")
        longest, known = data[1 - axis], inference.constant(1)
        if known is not None and isinstance(longest, int) and ((known < 0) | (known > longest)).any():
            inference.fail(f"sequence_lens must be in [0, {longest}]; got {known.tolist()}")
    return same_tensor(inference)


@op.eval(10, 28)
def evaluate(input: Array, sequence_lens: Array, *, batch_axis: int, time_axis: int) -> Array:
    """input, result: [T, B, ...], or [B, T, ...] for batch_axis 0; sequence_lens: [B] int64 in [0, T]."""
    if {batch_axis, time_axis} != {0, 1} or input.ndim < 2:
        what = f"batch_axis and time_axis must be 0 and 1 for rank >= 2; got {batch_axis}, {time_axis} for rank {input.ndim}"
        raise EvaluationError(what)
    length, batch = input.shape[time_axis], input.shape[batch_axis]
    if sequence_lens.shape != (batch,) or ((sequence_lens < 0) | (sequence_lens > length)).any():
        what = f"sequence_lens must be {batch} numbers in [0, {length}]; got {sequence_lens.tolist()}"
        raise EvaluationError(what)
    time = np.arange(length)[:, None]
    source = np.where(time < sequence_lens, sequence_lens - 1 - time, time)
    if time_axis == 0:
        return input[source, np.arange(batch)]
    return input[np.arange(batch)[:, None], source.T]

"""ReverseSequence: the beginning of each sequence of a batch in reverse.

Spec: ai.onnx ReverseSequence-10, -28, which differ in element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import merge_dims, same_tensor

op = Operator("ReverseSequence")


@op.infer(10, 28)
def infer(t: Inference) -> Result:
    data, lengths, axis = t.shape(0), t.shape(1), t.integer("batch_axis")
    if data is not None and len(data) < 2:
        t.fail(f"the input has rank {len(data)}, where a batch of sequences is wanted")
    if {axis, t.integer("time_axis")} != {0, 1}:
        t.fail(f"batch_axis is {axis} and time_axis {t.integer('time_axis')}, where one is 0 and the other 1")
    if lengths is not None and len(lengths) != 1:
        t.fail(f"sequence_lens has rank {len(lengths)}, where a vector is wanted")
    if data is not None and lengths is not None:
        merge_dims(t, [data[axis], lengths[0]], "the batch and sequence_lens")
        longest, known = data[1 - axis], t.constant(1)
        if known is not None and isinstance(longest, int) and ((known < 0) | (known > longest)).any():
            t.fail(f"sequence_lens are {known.tolist()}, where numbers from 0 to {longest} are wanted")
    return same_tensor(t)


@op.eval(10, 28)
def evaluate(input: Array, sequence_lens: Array, *, batch_axis: int, time_axis: int) -> Array:
    """input, result: [T, B, ...], or [B, T, ...] for batch_axis 0; sequence_lens: [B] int64 in [0, T]."""
    if {batch_axis, time_axis} != {0, 1} or input.ndim < 2:
        what = f"batch_axis {batch_axis} and time_axis {time_axis} of rank {input.ndim}, where 0 and 1 are wanted"
        raise EvaluationError(what)
    length, batch = input.shape[time_axis], input.shape[batch_axis]
    if sequence_lens.shape != (batch,) or ((sequence_lens < 0) | (sequence_lens > length)).any():
        what = (
            f"sequence_lens are {sequence_lens.tolist()}, where {batch} numbers from 0 to {length} are wanted"
        )
        raise EvaluationError(what)
    time = np.arange(length)[:, None]
    source = np.where(time < sequence_lens, sequence_lens - 1 - time, time)
    if time_axis == 0:
        return input[source, np.arange(batch)]
    return input[np.arange(batch)[:, None], source.T]

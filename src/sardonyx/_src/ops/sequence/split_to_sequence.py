"""SplitToSequence: a tensor split along one axis into a sequence of tensors.

Spec: ai.onnx SplitToSequence-11, -24.  Version 24 added an element type.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, SequenceType, TensorType
from sardonyx._src.ir.dims import Dim, dim_add, dim_mod
from sardonyx._src.ops.api import Operator, RuntimeValue
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.shapes import axis_of

op = Operator("SplitToSequence", parameters=(1,))


@op.infer(11, 24)
def infer(inference: Inference) -> Result:
    x = inference.tensor(0)
    if x is None or x.shape is None:
        return None if x is None else SequenceType(x)
    axis = inference.axis(inference.integer("axis"), len(x.shape))
    size = (
        []
        if not inference.has(1) and not inference.integer("keepdims")
        else [part_size(inference, x.shape[axis])]
    )
    return SequenceType(TensorType(x.dtype, (*x.shape[:axis], *size, *x.shape[axis + 1 :])))


def part_size(inference: Inference, whole: Dim) -> Dim:
    """The common size of all parts along the axis; None if it is not known or sizes differ."""
    if not inference.has(1):
        return 1
    parts, rank = inference.dims(1), inference.rank(1)
    if parts is None:
        return None
    least = 1 if rank == 0 else 0
    if any(isinstance(part, int) and part < least for part in parts):
        required = "positive" if rank == 0 else "sizes of at least 0"
        inference.fail(f"split must be {required}; got {', '.join(map(str, parts))}")
    if rank == 0:
        part = parts[0]
        return part if part is not None and part != 0 and dim_mod(whole, part) == 0 else None
    if isinstance(whole, int) and all(isinstance(p, int) for p in parts) and dim_add(*parts) != whole:
        inference.fail(f"split must add up to {whole}; got {', '.join(map(str, parts))}")
    return parts[0] if parts and all(p == parts[0] for p in parts) else None


@op.eval(11, 24)
def evaluate(input: Array, split: Array | None = None, *, axis: int, keepdims: int) -> list[RuntimeValue]:
    """The parts of a tensor.

    Without `split` every part has size 1; if `keepdims` is 0, this axis is removed.

    split: a scalar, the size of every part except that the last one may be smaller; or [n], the sizes of all parts
    """
    along = axis_of(axis, input.ndim)
    whole = input.shape[along]
    if split is None and not keepdims:
        return list(np.moveaxis(input, along, 0))
    ends = part_ends(np.array(1) if split is None else split, whole)
    front = (slice(None),) * along
    return [input[(*front, slice(a, b))] for a, b in zip([0, *ends], ends, strict=False)]


def part_ends(split: Array, whole: int) -> list[int]:
    """The end index of each part."""
    if split.ndim == 0:
        part = int(split)
        if part <= 0:
            raise EvaluationError(f"split must be positive; got {part}")
        return [*range(part, whole, part), *([whole] if whole else [])]
    sizes = [int(n) for n in split.reshape(-1)]
    if split.ndim > 1 or any(n < 0 for n in sizes) or sum(sizes) != whole:
        raise EvaluationError(f"split must add up to {whole}; got {split.tolist()}")
    return np.cumsum(sizes).tolist()

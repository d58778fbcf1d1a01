"""BitCast: the bits of each element read as another type of the same width.

Spec: ai.onnx BitCast-26.  A byte read as bool is true unless it is 0.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.dtypes.packing import truth
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result

op = Operator("BitCast", elementwise=True, reads_bits=True)


def target(to: int, source: DataType | None) -> DataType:
    """The type that `to` numbers; raises EvaluationError unless it is as wide as the source."""
    try:
        dtype = DataType.from_number(to)
        widths = dtype.bits, dtype.bits if source is None else source.bits
    except ValueError as error:
        raise EvaluationError(f"BitCast to {to}: {error}") from error
    if source is not None and widths[0] != widths[1]:
        what = f"the target of {source.name} must have {widths[1]} bits"
        raise EvaluationError(f"{what}; got {dtype.name}, which has {widths[0]}")
    return dtype


@op.eval(26)
def evaluate(input: Array, *, to: int) -> Array:
    """input, result: of the same shape."""
    source = DataType.of(input.dtype)
    dtype = target(to, source)
    contiguous = np.ascontiguousarray(input).reshape(input.shape)
    if (
        dtype.bits < 8
    ):  # an element uses only the low bits of its byte; the others may hold copies of a sign bit
        return (contiguous.view(np.uint8) & np.uint8((1 << dtype.bits) - 1)).view(dtype.numpy)
    if dtype is DataType.BOOL:
        return truth(contiguous.view(np.uint8))
    if source.is_complex != dtype.is_complex:  # the real part is in the low bytes, on any machine
        little = contiguous.astype(input.dtype.newbyteorder("<"), copy=False)
        return little.view(dtype.numpy.newbyteorder("<")).astype(dtype.numpy, copy=False)
    return contiguous.view(dtype.numpy)


@op.infer(26)
def infer(inference: Inference) -> Result:
    try:
        return TensorType(target(inference.integer("to"), inference.dtype(0)), inference.shape(0))
    except EvaluationError as error:
        inference.fail(str(error))

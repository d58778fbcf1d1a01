"""BitCast: the bits of each element read as another type of the same width.

Spec: ai.onnx BitCast-26.  A byte other than 0 and 1 that is read as bool is true.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.dtypes.packing import truth
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result

op = Operator("BitCast", elementwise=True)


def target(to: int, source: DataType | None) -> DataType:
    """The type that `to` numbers; raises EvaluationError where it is none, or not as wide as the source."""
    try:
        found = DataType.numbered(to)
        widths = found.bits, found.bits if source is None else source.bits
    except ValueError as error:
        raise EvaluationError(f"BitCast to {to}: {error}") from error
    if source is not None and widths[0] != widths[1]:
        what = (
            f"{source.name} has {widths[1]} bits and {found.name} {widths[0]}, where the same width is wanted"
        )
        raise EvaluationError(what)
    return found


@op.eval(26)
def evaluate(input: Array, *, to: int) -> Array:
    """input, result: of the same shape."""
    source = DataType.of(input.dtype)
    found = target(to, source)
    contiguous = np.ascontiguousarray(input).reshape(input.shape)
    if found.bits < 8:  # only the low bits of a byte count, and signed elements may fill the others
        return (contiguous.view(np.uint8) & np.uint8((1 << found.bits) - 1)).view(found.numpy)
    if found is DataType.BOOL:
        return truth(contiguous.view(np.uint8))
    if source.is_complex != found.is_complex:  # the real part stands in the low bytes, on any machine
        little = contiguous.astype(input.dtype.newbyteorder("<"), copy=False)
        return little.view(found.numpy.newbyteorder("<")).astype(found.numpy, copy=False)
    return contiguous.view(found.numpy)


@op.infer(26)
def infer(t: Inference) -> Result:
    try:
        return TensorType(target(t.integer("to"), t.dtype(0)), t.shape(0))
    except EvaluationError as error:
        t.fail(str(error))

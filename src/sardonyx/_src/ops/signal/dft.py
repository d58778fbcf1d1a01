"""DFT: the discrete Fourier transform along one axis, or its inverse, which divides by the length.

Spec: ai.onnx DFT-17, -20.  `axis` is an attribute, 1 by default, in 17 and an input, -2 by default, in 20.  With
`onesided` the transform of a real signal is the non-redundant half of the spectrum, and the inverse restores the real
signal from that half.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim, dim_add, dim_floordiv, dim_mul, dim_sub
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.signal.complex_pairs import as_complex, as_pairs
from sardonyx._src.ops.signal.output_type import known_integer, read_integer, read_scalar
from sardonyx._src.ops.support.arithmetic import round_to_type
from sardonyx._src.ops.support.shapes import axis_of
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("DFT", tolerance="rounding", parameters=(1, 2))


@op.eval(17)
def eval_17(
    input: Array,
    dft_length: Array | None = None,
    *,
    axis: int,
    inverse: int,
    onesided: int,
    context: RunContext,
) -> Array:
    return transform(input, dft_length, axis, bool(inverse), bool(onesided), context)


@op.eval(20)
def eval_20(
    input: Array,
    dft_length: Array | None = None,
    axis: Array | None = None,
    *,
    inverse: int,
    onesided: int,
    context: RunContext,
) -> Array:
    along = -2 if axis is None else int(read_scalar(axis, "axis"))
    return transform(input, dft_length, along, bool(inverse), bool(onesided), context)


def transform(
    x: Array, dft_length: Array | None, axis: int, inverse: bool, onesided: bool, context: RunContext
) -> Array:
    """x: [..., n, ..., 1] real or [..., n, ..., 2] complex; result: [..., m, ..., 2], or [..., m, ..., 1] for a onesided inverse.

    The signal is cropped or padded with zeros to `dft_length`.  This is m, unless a onesided transform gives only the first
    half of that spectrum.
    """
    z = as_complex(x)
    if axis in (-1, x.ndim - 1):
        raise EvaluationError(f"axis must not be that of real and imaginary parts; got {axis}")
    axis = axis_of(axis, x.ndim)
    if onesided and x.shape[-1] != (2 if inverse else 1):
        expected = "complex input" if inverse else "real input"
        raise EvaluationError(f"onesided must have {expected}; got a last axis of size {x.shape[-1]}")
    size = x.shape[axis]
    default = np.array(2 * (size - 1) if onesided and inverse else size)
    length = read_integer(default if dft_length is None else dft_length, "dft_length", minimum=1)
    check_result_bytes(context, [*z.shape[:axis], length, *z.shape[axis + 1 :]], np.complex128, "DFT result")
    if onesided and inverse:
        return round_to_type(np.fft.irfft(z, length, axis)[..., None], x.dtype)
    if onesided:
        return as_pairs(np.fft.rfft(z.real, length, axis), x.dtype)
    return as_pairs((np.fft.ifft if inverse else np.fft.fft)(z, length, axis), x.dtype)


@op.convert((17, 20))
def to_20(adapter: Adapter) -> AdaptedNode:
    return adapter.same([adapter.input(0), adapter.optional(1), adapter.as_input("axis")], drop=("axis",))


@op.convert((20, 17))
def to_17(adapter: Adapter) -> AdaptedNode:
    axis = adapter.inference.constant(2)
    if axis is None and adapter.optional(2) is not None:
        adapter.refuse("axis must be constant: it is an attribute in DFT-17")
    along = adapter.inference.axis(-2 if axis is None else int(axis.reshape(())), adapter.rank(0))
    return adapter.same([adapter.input(0), adapter.optional(1)], axis=along)


# --- inference -------------------------------------------------------------------------------


@op.infer(17, 20)
def infer(inference: Inference) -> Result:
    x = inference.tensor(0)
    if x is None or x.shape is None:
        return x and TensorType(x.dtype)
    rank, last = len(x.shape), x.shape[-1] if x.shape else 0
    if rank < 2 or (isinstance(last, int) and last not in (1, 2)):
        inference.fail(f"the input must have rank >= 2 and a last axis of size 1 or 2; got {x}")
    inverse, onesided = bool(inference.integer("inverse")), bool(inference.integer("onesided"))
    if onesided and last == (1 if inverse else 2):
        inference.fail(
            f"onesided must have {'complex' if inverse else 'real'} input; got a last axis of size {last}"
        )
    parts = 1 if onesided and inverse else 2
    axis = known_axis(inference)
    if not isinstance(axis, int):
        changes = onesided or inference.has(1)  # otherwise the size is unchanged, whatever the axis
        return TensorType(x.dtype, (*((None,) * (rank - 1) if changes else x.shape[:-1]), parts))
    axis = inference.axis(axis, rank)
    if axis == rank - 1:
        inference.fail(f"axis must not be that of real and imaginary parts; got {axis}")
    size = known_length(inference, x.shape[axis], inverse and onesided)
    if onesided and not inverse:
        size = dim_add(dim_floordiv(size, 2), 1)
    return TensorType(x.dtype, (*x.shape[:axis], size, *x.shape[axis + 1 : -1], parts))


def known_axis(inference: Inference) -> Dim:
    if inference.version == 17:
        return inference.integer("axis")
    return known_integer(inference, 2, "axis", minimum=-(1 << 31)) if inference.has(2) else -2


def known_length(inference: Inference, size: Dim, halved: bool) -> Dim:
    if inference.has(1):
        return known_integer(inference, 1, "dft_length", minimum=1)
    return dim_mul(2, dim_sub(size, 1)) if halved else size

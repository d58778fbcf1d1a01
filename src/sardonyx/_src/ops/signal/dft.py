"""DFT: the discrete Fourier transform along one axis, or its inverse, which divides by the length.

Spec: ai.onnx DFT-17, -20.  `axis` is an attribute, 1 by default, in 17 and an input, -2 by default, in 20.  With
`onesided` the transform of a real signal is only the half that tells the other one, and the inverse makes a real signal
of such a half.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, dim_add, dim_floordiv, dim_mul, dim_sub
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import narrow
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import axis_of
from sardonyx._src.ops.signal.complex_pairs import as_complex, as_pairs
from sardonyx._src.ops.signal.output_type import scalar, told_whole, whole

op = Operator("DFT", tolerance="rounding")


@op.eval(17)
def eval_17(
    input: Array, dft_length: Array | None = None, *, axis: int, inverse: int, onesided: int, call: Call
) -> Array:
    return transformed(input, dft_length, axis, bool(inverse), bool(onesided), call)


@op.eval(20)
def eval_20(
    input: Array,
    dft_length: Array | None = None,
    axis: Array | None = None,
    *,
    inverse: int,
    onesided: int,
    call: Call,
) -> Array:
    along = -2 if axis is None else int(scalar(axis, "axis"))
    return transformed(input, dft_length, along, bool(inverse), bool(onesided), call)


def transformed(
    x: Array, dft_length: Array | None, axis: int, inverse: bool, onesided: bool, call: Call
) -> Array:
    """x: [..., n, ..., 1] real or [..., 2] complex; result: [..., m, ..., 2], of a onesided inverse [..., 1].

    The signal is cut or filled with zeros to `dft_length`, which is m, or the m of which onesided gives the first half.
    """
    z = as_complex(x)
    if axis in (-1, x.ndim - 1):
        raise EvaluationError(f"axis {axis} is the one of real and imaginary parts")
    axis = axis_of(axis, x.ndim)
    if onesided and x.shape[-1] != (2 if inverse else 1):
        wanted = "complex input" if inverse else "real input"
        raise EvaluationError(
            f"onesided is set, for which {wanted} is wanted; the last axis has {x.shape[-1]}"
        )
    size = x.shape[axis]
    default = np.array(2 * (size - 1) if onesided and inverse else size)
    length = whole(default if dft_length is None else dft_length, "dft_length", least=1)
    claim(call, [*z.shape[:axis], length, *z.shape[axis + 1 :]], np.complex128, "DFT result")
    if onesided and inverse:
        return narrow(np.fft.irfft(z, length, axis)[..., None], x.dtype)
    if onesided:
        return as_pairs(np.fft.rfft(z.real, length, axis), x.dtype)
    return as_pairs((np.fft.ifft if inverse else np.fft.fft)(z, length, axis), x.dtype)


@op.convert((17, 20))
def to_20(c: Change) -> Converted:
    return c.same([c.input(0), c.optional(1), c.as_input("axis")], drop=("axis",))


@op.convert((20, 17))
def to_17(c: Change) -> Converted:
    axis = c.t.constant(2)
    if axis is None and c.optional(2) is not None:
        c.refuse("the axis is not constant, and an attribute there")
    along = c.t.axis(-2 if axis is None else int(axis.reshape(())), c.rank(0))
    return c.same([c.input(0), c.optional(1)], axis=along)


# --- inference -------------------------------------------------------------------------------


@op.infer(17, 20)
def infer(t: Inference) -> Result:
    x = t.tensor(0)
    if x is None or x.shape is None:
        return x and TensorType(x.dtype)
    rank, last = len(x.shape), x.shape[-1] if x.shape else 0
    if rank < 2 or (isinstance(last, int) and last not in (1, 2)):
        t.fail("the input wants a last axis of 1 or 2 behind another one")
    inverse, onesided = bool(t.integer("inverse")), bool(t.integer("onesided"))
    if onesided and last == (1 if inverse else 2):
        t.fail(f"onesided is set, and the last axis has {last}")
    parts = 1 if onesided and inverse else 2
    axis = told_axis(t)
    if not isinstance(axis, int):
        changes = onesided or t.has(1)  # else the size along that axis, whichever it is, stays
        return TensorType(x.dtype, (*((None,) * (rank - 1) if changes else x.shape[:-1]), parts))
    axis = t.axis(axis, rank)
    if axis == rank - 1:
        t.fail(f"axis {axis} is the one of real and imaginary parts")
    size = told_length(t, x.shape[axis], inverse and onesided)
    if onesided and not inverse:
        size = dim_add(dim_floordiv(size, 2), 1)
    return TensorType(x.dtype, (*x.shape[:axis], size, *x.shape[axis + 1 : -1], parts))


def told_axis(t: Inference) -> Dim:
    if t.version == 17:
        return t.integer("axis")
    return told_whole(t, 2, "axis", least=-(1 << 31)) if t.has(2) else -2


def told_length(t: Inference, size: Dim, halved: bool) -> Dim:
    if t.has(1):
        return told_whole(t, 1, "dft_length", least=1)
    return dim_mul(2, dim_sub(size, 1)) if halved else size

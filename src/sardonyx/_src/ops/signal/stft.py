"""STFT: the discrete Fourier transforms of frames that step over a signal.

Spec: ai.onnx STFT-17.  A frame is as long as `frame_length` or the window, or else as the signal; it is weighted by the
window.  With `onesided`, which wants a real signal, each transform is only the half that tells the other one.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, dim_add, dim_floordiv, dim_sub
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import widen
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import merge_dims
from sardonyx._src.ops.signal.complex_pairs import as_complex, as_pairs
from sardonyx._src.ops.signal.output_type import told_whole, whole

op = Operator("STFT", tolerance="rounding")


@op.eval(17)
def evaluate(
    signal: Array,
    frame_step: Array,
    window: Array | None = None,
    frame_length: Array | None = None,
    *,
    onesided: int,
    call: Call,
) -> Array:
    """signal: [batch, n, 1] real or [batch, n, 2] complex; window: [length] of the same type; frame_step,
    frame_length: one integer each; result: [batch, frames, length or its onesided half, 2]."""
    if signal.ndim != 3:
        raise EvaluationError(f"the signal has rank {signal.ndim}, where [batch, n, 1 or 2] is wanted")
    z = as_complex(signal)
    step = whole(frame_step, "frame_step", least=1)
    length = length_of(z.shape[1], window, frame_length)
    if onesided and signal.shape[-1] == 2:
        raise EvaluationError("onesided is set, which a complex signal does not allow")
    claim(call, [z.shape[0], (z.shape[1] - length) // step + 1, length], np.complex128, "STFT result")
    frames = sliding_window_view(z, length, axis=1)[:, ::step]
    if window is not None:
        frames = frames * widen(window)
    return as_pairs(np.fft.rfft(frames.real) if onesided else np.fft.fft(frames), signal.dtype)


def length_of(size: int, window: Array | None, frame_length: Array | None) -> int:
    """The length of a frame of a signal of that size."""
    length = size if frame_length is None else whole(frame_length, "frame_length", least=1)
    if window is not None:
        if window.ndim != 1 or (frame_length is not None and window.shape[0] != length):
            wanted = "a vector" if frame_length is None else f"[{length}]"
            raise EvaluationError(f"the window has shape {list(window.shape)}, where {wanted} is wanted")
        length = window.shape[0]
    if not 0 < length <= size:
        raise EvaluationError(f"a frame of {length} elements does not fit into a signal of {size}")
    return length


# --- inference -------------------------------------------------------------------------------


@op.infer(17)
def infer(t: Inference) -> Result:
    signal = t.tensor(0)
    if signal is None:
        return None
    batch, size, parts = (None, None, None) if signal.shape is None else triple(t, signal.shape)
    onesided = t.integer("onesided")
    if onesided and parts == 2:
        t.fail("onesided is set, which a complex signal does not allow")
    length = told_length(t, size)
    if isinstance(length, int) and isinstance(size, int) and not 0 < length <= size:
        t.fail(f"a frame of {length} elements does not fit into a signal of {size}")
    step = told_whole(t, 1, "frame_step", least=1)
    frames = dim_add(dim_floordiv(dim_sub(size, length), step), 1)
    bins = dim_add(dim_floordiv(length, 2), 1) if onesided else length
    return TensorType(signal.dtype, (batch, frames, bins, 2))


def triple(t: Inference, shape: tuple[Dim, ...]) -> tuple[Dim, Dim, Dim]:
    if len(shape) != 3:
        t.fail(f"the signal has rank {len(shape)}, where [batch, n, 1 or 2] is wanted")
    if isinstance(shape[2], int) and shape[2] not in (1, 2):
        t.fail(f"the last axis of the signal has {shape[2]}, where 1 or 2 is wanted")
    return shape[0], shape[1], shape[2]


def told_length(t: Inference, size: Dim) -> Dim:
    length = told_whole(t, 3, "frame_length", least=1) if t.has(3) else None
    if not t.has(2):
        return length if t.has(3) else size
    window = t.shape(2)
    if window is None:
        return length
    if len(window) != 1:
        t.fail(f"the window has rank {len(window)}, where a vector is wanted")
    return merge_dims(t, (length, window[0]), "frame_length and the window")

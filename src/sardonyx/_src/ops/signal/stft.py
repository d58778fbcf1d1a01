"""STFT: the short-time Fourier transform, which is the DFT of each frame of a signal.

Spec: ai.onnx STFT-17.  The length of a frame is `frame_length`; without it the length of the window, and without that the
length of the signal.  Each frame is multiplied by the window.  With `onesided`, which is for real signals only, each
transform is the non-redundant half of the spectrum.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim, dim_add, dim_floordiv, dim_sub
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.signal.complex_pairs import as_complex, as_pairs
from sardonyx._src.ops.signal.output_type import known_integer, read_integer
from sardonyx._src.ops.support.arithmetic import promote_to_float32
from sardonyx._src.ops.support.shapes import merge_dims

op = Operator("STFT", tolerance="rounding", parameters=(1, 3))


@op.eval(17)
def evaluate(
    signal: Array,
    frame_step: Array,
    window: Array | None = None,
    frame_length: Array | None = None,
    *,
    onesided: int,
    context: RunContext,
) -> Array:
    """The transforms of all frames, [batch, frames, length or its onesided half, 2].

    signal: [batch, n] or [batch, n, 1] real, or [batch, n, 2] complex
    frame_step, frame_length: one integer each
    window: [length] of the type of the signal
    """
    if signal.ndim not in (2, 3):
        raise EvaluationError(f"the signal must be [batch, n] or [batch, n, 1 or 2]; got rank {signal.ndim}")
    z = as_complex(signal if signal.ndim == 3 else signal[..., None])
    step = read_integer(frame_step, "frame_step", minimum=1)
    length = length_of(z.shape[1], window, frame_length)
    if onesided and signal.ndim == 3 and signal.shape[2] == 2:
        raise EvaluationError("onesided must be 0 for a complex signal")
    check_result_bytes(
        context, [z.shape[0], (z.shape[1] - length) // step + 1, length], np.complex128, "STFT result"
    )
    frames = sliding_window_view(z, length, axis=1)[:, ::step]
    if window is not None:
        frames = frames * promote_to_float32(window)
    return as_pairs(np.fft.rfft(frames.real) if onesided else np.fft.fft(frames), signal.dtype)


def length_of(size: int, window: Array | None, frame_length: Array | None) -> int:
    """The length of the frames of a signal of this size."""
    length = size if frame_length is None else read_integer(frame_length, "frame_length", minimum=1)
    if window is not None:
        if window.ndim != 1 or (frame_length is not None and window.shape[0] != length):
            expected = "a vector" if frame_length is None else f"[{length}]"
            raise EvaluationError(f"the window must be {expected}; got shape {list(window.shape)}")
        length = window.shape[0]
    if not 0 < length <= size:
        raise EvaluationError(
            f"the frame length must be in [1, {size}], the length of the signal; got {length}"
        )
    return length


# --- inference -------------------------------------------------------------------------------


@op.infer(17)
def infer(inference: Inference) -> Result:
    signal = inference.tensor(0)
    if signal is None:
        return None
    batch, size, parts = (None, None, None) if signal.shape is None else signal_dims(inference, signal.shape)
    onesided = inference.integer("onesided")
    if onesided and parts == 2:
        inference.fail("onesided must be 0 for a complex signal")
    length = known_length(inference, size)
    if isinstance(length, int) and isinstance(size, int) and not 0 < length <= size:
        inference.fail(f"the frame length must be in [1, {size}], the length of the signal; got {length}")
    step = known_integer(inference, 1, "frame_step", minimum=1)
    frames = dim_add(dim_floordiv(dim_sub(size, length), step), 1)
    bins = dim_add(dim_floordiv(length, 2), 1) if onesided else length
    return TensorType(signal.dtype, (batch, frames, bins, 2))


def signal_dims(inference: Inference, shape: tuple[Dim, ...]) -> tuple[Dim, Dim, Dim]:
    """The sizes of the signal: the batch, the length, and the parts of a number, 1 or 2."""
    if len(shape) == 2:
        return shape[0], shape[1], 1
    if len(shape) != 3:
        inference.fail(f"the signal must be [batch, n] or [batch, n, 1 or 2]; got rank {len(shape)}")
    if isinstance(shape[2], int) and shape[2] not in (1, 2):
        inference.fail(f"the last axis of the signal must have size 1 or 2; got {shape[2]}")
    return shape[0], shape[1], shape[2]


def known_length(inference: Inference, size: Dim) -> Dim:
    length = known_integer(inference, 3, "frame_length", minimum=1) if inference.has(3) else None
    if not inference.has(2):
        return length if inference.has(3) else size
    window = inference.shape(2)
    if window is None:
        return length
    if len(window) != 1:
        inference.fail(f"the window must be a vector; got rank {len(window)}")
    return merge_dims(inference, (length, window[0]), "frame_length and the window")

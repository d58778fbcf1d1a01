"""DFT of a known length along a known axis, and STFT of known frames, as products with matrices (`fourier.py`)."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.prepare.decompositions.fourier import (
    Transform,
    TransformBuilder,
    factor_of,
    transform_rows,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.engine.edit import Edit

LIMITS = "a whole inverse in float32 has other imaginary parts than the official results"
FLOAT_TYPES = (DataType.FLOAT, DataType.DOUBLE, DataType.FLOAT16, DataType.BFLOAT16)


def decompose(node: Node, edit: Edit) -> bool:
    type_ = edit.type(node.inputs[0])
    if edit.operator_of(node) is None or type_ is None or type_.shape is None:
        return False
    if type_.dtype not in FLOAT_TYPES:
        return False
    builder = TransformBuilder(node, edit)
    return (decompose_stft if node.op_type == "STFT" else decompose_dft)(builder, type_.dtype)


def decompose_dft(builder: TransformBuilder, dtype: DataType) -> bool:
    node, edit = builder.node, builder.edit
    shape, attributes = edit.shape(node.inputs[0]) or (), edit.attributes(node)
    length, axis = (known_integer(edit, node, i) for i in (1, 2))
    rank, along = len(shape), -2 if not has_input(node, 2) else axis
    if along is None or not -rank <= along < rank or (has_input(node, 1) and length is None):
        return False
    along %= rank
    size, parts = shape[along], shape[-1]
    if along == rank - 1 or not isinstance(size, int) or size < 1 or not isinstance(parts, int):
        return False
    is_inverse, is_halved = bool(attributes["inverse"]), bool(attributes["onesided"])
    if is_inverse and not is_halved and dtype is not DataType.DOUBLE:
        return (
            False  # the official results have errors of NumPy's single precision where imaginary parts are 0
        )
    length = length or (2 * (size - 1) if is_inverse and is_halved else size)
    transform = Transform(length, parts, is_inverse, is_halved)
    if length < 1 or factor_of(length) < 0 or (is_halved and parts != (2 if is_inverse else 1)):
        return False
    order = [*(i for i in range(rank - 1) if i != along), along, rank - 1]
    x = with_type(builder, node.inputs[0], dtype, DataType.DOUBLE)
    moved = builder.add("Transpose", x, perm=order)
    y = transform_rows(builder, builder.reshape(moved, -1, size, parts), size, transform)
    batch = builder.add("Shape", moved, end=rank - 2)
    tail = builder.ints(transform.num_outputs, 1 if transform.has_real_result else 2)
    y = builder.add("Reshape", y, builder.add("Concat", batch, tail, axis=0), allowzero=1)
    y = builder.add("Transpose", y, perm=[order.index(i) for i in range(rank)])
    edit.transfer_outputs(node, [with_type(builder, y, DataType.DOUBLE, dtype)])
    return True


def has_input(node: Node, i: int) -> bool:
    return i < len(node.inputs) and node.inputs[i] is not None


def known_integer(edit: Edit, node: Node, i: int) -> int | None:
    """The only element of an input; None if it is omitted or not known."""
    elements = edit.constant(node.inputs[i]) if has_input(node, i) else None
    return int(elements.reshape(())) if elements is not None and elements.size == 1 else None


def with_type(builder: TransformBuilder, x: Value | None, dtype: DataType, to: DataType) -> Value:
    """x as a value of type `to`, by a Cast, or by an Identity, since x itself may be public and cannot replace an output."""
    return builder.add("Identity", x) if dtype is to else builder.add("Cast", x, to=int(to))


# --- frames ----------------------------------------------------------------------------------


def decompose_stft(builder: TransformBuilder, dtype: DataType) -> bool:
    """STFT: gathers frames from the signal, multiplies them by the window, and transforms them."""
    node, edit = builder.node, builder.edit
    shape = edit.shape(node.inputs[0]) or ()
    parts = shape[2] if len(shape) == 3 else 1
    step, length = known_integer(edit, node, 1), frame_length(builder)
    is_halved = bool(edit.attributes(node)["onesided"])
    if (
        step is None
        or step < 1
        or length is None
        or not isinstance(parts, int)
        or not isinstance(shape[1], int)
    ):
        return False
    if not 0 < length <= shape[1] or factor_of(length) < 0 or (is_halved and parts != 1):
        return False
    transform = Transform(length, parts, is_inverse=False, is_halved=is_halved)
    x = with_type(builder, node.inputs[0], dtype, DataType.DOUBLE)
    frames = gathered_frames(builder, x, len(shape), shape[1], step, length)
    if has_input(node, 2):
        window = with_type(builder, node.inputs[2], dtype, DataType.DOUBLE)
        frames = builder.add("Mul", frames, builder.reshape(window, length, 1))
    y = transform_rows(builder, builder.reshape(frames, -1, length, parts), length, transform)
    batch = builder.add("Shape", x, end=1)
    tail = builder.ints((shape[1] - length) // step + 1, transform.num_outputs, 2)
    y = builder.add("Reshape", y, builder.add("Concat", batch, tail, axis=0), allowzero=1)
    edit.transfer_outputs(node, [with_type(builder, y, DataType.DOUBLE, dtype)])
    return True


def frame_length(builder: TransformBuilder) -> int | None:
    """The number of elements of a frame; None if it is not known."""
    node, edit = builder.node, builder.edit
    shape, window = (
        edit.shape(node.inputs[0]) or (),
        edit.shape(node.inputs[2]) if has_input(node, 2) else None,
    )
    if len(shape) not in (2, 3) or (has_input(node, 2) and (window is None or len(window) != 1)):
        return None
    length = known_integer(edit, node, 3) if has_input(node, 3) else None
    size = length if has_input(node, 3) else window[0] if window is not None else shape[1]
    if not isinstance(size, int) or (window is not None and window[0] != size):
        return None
    return size


def gathered_frames(
    builder: TransformBuilder, x: Value, rank: int, size: int, step: int, length: int
) -> Value:
    """The frames of a signal of `size` elements: [batch, frames, length, parts]."""
    starts = np.arange(0, size - length + 1, step)
    indices = builder.constant(starts[:, None] + np.arange(length))
    frames = builder.add("Gather", x, indices, axis=1)
    return frames if rank == 3 else builder.add("Unsqueeze", frames, builder.ints(3))

"""Pictures of matrices and kernels, in grey values."""

from __future__ import annotations

import base64

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.view.page_data import Picture

SIDE = 64  # pixels of a picture in a page
MOST_KERNELS = 256  # of a convolution that are drawn


def picture_of(array: Array, side: int = SIDE) -> Picture | None:
    """The elements as grey values from black, the least, to white; None for tensors that are no matrix.

    A tensor of rank 3 or more is drawn as its first kernels: the last two dims, beside and below each other.
    Longer sides are sampled at equal distances.
    """
    if array.ndim < 2 or array.size < 4 or array.dtype.kind in "OSU":
        return None
    wide = np.abs(array) if array.dtype.kind == "c" else array
    matrix = as_matrix(wide).astype(np.float64)
    matrix = matrix[sample(matrix.shape[0], side)][:, sample(matrix.shape[1], side)]
    pixels = grey(matrix)
    return {
        "width": matrix.shape[1],
        "height": matrix.shape[0],
        "pixels": base64.b64encode(pixels.tobytes()).decode(),
    }


def as_matrix(array: Array) -> Array:
    """A tensor of rank 2 or more as a matrix: kernels of the last two dims in rows."""
    if array.ndim == 2:
        return array
    kernels = array.reshape(-1, *array.shape[-2:])[:MOST_KERNELS]
    count, height, width = kernels.shape
    columns = max(1, round((count * height / max(width, 1)) ** 0.5))
    rows = -(-count // columns)
    padded = np.zeros((rows * columns, height, width), kernels.dtype)
    padded[:count] = kernels
    return padded.reshape(rows, columns, height, width).swapaxes(1, 2).reshape(rows * height, columns * width)


def sample(size: int, most: int) -> Array:
    """At most `most` positions at equal distances."""
    return np.arange(size) if size <= most else np.linspace(0, size - 1, most).astype(np.int64)


def grey(matrix: Array) -> Array:
    """Grey values of 8 bits; what is not finite is black."""
    finite = np.isfinite(matrix)
    if not finite.any():
        return np.zeros(matrix.shape, np.uint8)
    low, high = float(matrix[finite].min()), float(matrix[finite].max())
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (matrix / 2 - low / 2) / max(high / 2 - low / 2, np.finfo(np.float64).tiny) * 255
    return np.where(finite, np.clip(np.nan_to_num(scaled), 0, 255), 0).astype(np.uint8)
